-- Deletes one user after another: the first ones, and the last 50,000 to warm up.
dofile("report.lua")

local first = os.getenv("WARM") and tonumber(os.getenv("USERS")) - 50000 or 1
local id = first - 2 -- wrk calls request once before the load, to look at what it returns

function request()
  id = id + 1
  return wrk.format("DELETE", string.format(os.getenv("ONE_PATH"), id))
end
