-- Reads users at random places: READ_PATH is a format for an id (%d) or an email (%s), of the users 1 to LAST_NUMBER.
dofile("report.lua")

math.randomseed(tonumber(os.getenv("SEED") or 1)) -- the same places for each server, and others to warm up
local last, by_email = tonumber(os.getenv("LAST_NUMBER")), os.getenv("READ_PATH"):find("%%s")
local text

function init()
  text = wrk.format("GET", os.getenv("READ_PATH")) -- once: only the place changes
end

function request()
  local number = math.random(last)
  return string.format(text, by_email and seed_email(number) or number)
end
