-- Reads users at random places: READ_PATH is a format for an id (%d) or an email (%s). With LAST=true it reads at the end.
dofile("report.lua")

math.randomseed(os.getenv("WARM") and 2 or 1) -- the same places for each server, and others to warm up
local last = tonumber(os.getenv("USERS")) - 100
local first, by_email = os.getenv("LAST") and last or 1, os.getenv("READ_PATH"):find("%%s")
local text

function init()
  text = wrk.format("GET", os.getenv("READ_PATH")) -- once: only the place changes
end

function request()
  local number = math.random(first, last)
  return string.format(text, by_email and seed_email(number) or number)
end
