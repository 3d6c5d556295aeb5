-- Nine lists to one creation, until REQUESTS were answered.
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

local requests, clients = tonumber(os.getenv("REQUESTS")), tonumber(os.getenv("CLIENTS"))
local calls, started, list = 0, 0, nil

function init()
  list = wrk.format("GET", os.getenv("LIST_PATH"))
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
    return creation(calls)
  end
  return list
end
