-- Deletes the users from FIRST_ID on, one after another.
dofile("report.lua")

local id = tonumber(os.getenv("FIRST_ID") or 1) - 2 -- wrk calls request once before the load, to look at what it returns

function request()
  id = id + 1
  return wrk.format("DELETE", string.format(os.getenv("ONE_PATH"), id))
end
