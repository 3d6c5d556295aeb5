-- Nine lists to one write, until 3,000 requests were answered. With WRITES=all the writes are a creation, a change and a
-- deletion in turn, of the first users; otherwise they are creations.
--
-- The work is fixed, and not the time: in a fixed time a quick server would collect more users than a slow one, and
-- would have to send longer lists than its peers.
dofile("report.lua")

local ffi = require("ffi")
ffi.cdef("typedef struct { long s; long ns; } moment; int clock_gettime(int clock, moment *now);")

local function now_us()
  local now = ffi.new("moment")
  ffi.C.clock_gettime(1, now) -- the monotonic clock
  return tonumber(now.s) * 1e6 + tonumber(now.ns) / 1e3
end

fixed = true
local warm, clients = os.getenv("WARM"), tonumber(os.getenv("CLIENTS"))
local requests = warm and 200 or os.getenv("QUICK") and 300 or 3000
local one, all = os.getenv("ONE_PATH"), os.getenv("WRITES") == "all"
local calls, started, list, id = 0, 0, nil, (warm and tonumber(os.getenv("USERS")) / 2 or 1) - 1

function init()
  list = wrk.format("GET", os.getenv("LIST_PATH"))
end

local function write()
  local kind = all and calls / 10 % 3 or 0
  if kind == 0 then
    return creation(calls)
  end
  id = id + 1 -- each user once: one that was deleted cannot be changed
  if kind == 1 then
    return change(string.format(one, id), calls)
  end
  return wrk.format("DELETE", string.format(one, id))
end

function request()
  calls = calls + 1
  if calls == 2 then -- the first call is wrk's look at what request returns
    started = now_us()
  elseif calls == requests + clients + 1 then -- each client has one request more under way
    elapsed_us, answered = now_us() - started, requests
    wrk.thread:stop()
  end
  if calls % 10 == 0 then
    return write()
  end
  return list
end
