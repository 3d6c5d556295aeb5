-- What every script shares: how wrk's figures are printed, in one line for the program that started wrk.
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
  local errors, timed = summary.errors, threads[1]:get("fixed")
  io.write(string.format(
    "figures answered=%d microseconds=%d p50=%d p99=%d refused=%d broken=%d\n",
    answered, elapsed, timed and 0 or latency:percentile(50), timed and 0 or latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
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

-- creation returns the request that creates the user of a number.
function creation(number)
  local body = string.format('{"name":"User %d","email":"%s"}', number, email(number))
  return wrk.format("POST", os.getenv("CREATE_PATH"), json, body)
end

-- change returns the request that gives the user at a path another name.
function change(path, number)
  return wrk.format("PATCH", path, json, string.format('{"name":"Changed %d"}', number))
end
