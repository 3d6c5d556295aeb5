-- What every script shares: how wrk's figures are printed, as bench reads them. Refused and broken answers are told beside.
--
-- A script may set the global elapsed_us: then it has timed a fixed number of answers itself, in the global answered.
-- It has no percentiles then: wrk corrects them for a load that lasts as long as its time.
local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

function done(summary, latency)
  local answered = threads[1]:get("answered") or summary.requests
  local elapsed = threads[1]:get("elapsed_us") or summary.duration
  local errors = summary.errors
  local broken = errors.connect + errors.read + errors.write + errors.timeout
  if errors.status + broken > 0 then
    io.stderr:write(string.format("%d of %d answers were refusals, %d were broken", errors.status, answered, broken))
  end
  if answered == 0 then
    return
  end
  io.write(string.format("figures %g answers/s", (answered - errors.status) / elapsed * 1e6))
  if not threads[1]:get("fixed") then
    io.write(string.format(" %g p50-ms %g p99-ms", latency:percentile(50) / 1000, latency:percentile(99) / 1000))
  end
end

-- email returns an address that no other call of this run returns. Random ones fall all over the index on emails, as
-- real ones do; ascending ones at its end, behind those that were there before. The factor is odd, so that no
-- two numbers below 2^32 give the same text.
function email(number)
  if os.getenv("EMAILS") == "ascending" then
    return string.format("z%09d.%s@example.com", number, os.getenv("RUN"))
  end
  return string.format("%08x.%s@example.com", (number * 2654435761) % 4294967296, os.getenv("RUN"))
end

-- seed_email returns the email of a user who was there before: see emailOf in peers.go.
function seed_email(number)
  return string.format("%08x.seed@example.com", (number * 2654435761) % 4294967296)
end

local json = { ["Content-Type"] = "application/json" }

-- creation returns the request that creates the user of a number, with a value for each field that a setting adds.
function creation(number)
  local body = string.format('{"name":"User %d","email":"%s"', number, email(number))
  for field in (os.getenv("USER_FIELDS") or ""):gmatch("[^,]+") do
    body = body .. string.format(',"%s":"Value %d"', field, number)
  end
  return wrk.format("POST", os.getenv("CREATE_PATH"), json, body .. "}")
end

-- change returns the request that gives the user at a path another name.
function change(path, number)
  return wrk.format("PATCH", path, json, string.format('{"name":"Changed %d"}', number))
end
