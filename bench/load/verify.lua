-- wrk asks POST verify-nin or verify-bvn with another number each time, so that no answer is shared with another.
-- KEY, PATH_TO, FIELD (nin or bvn), COUNT (0: any number; else one of so many known people), SEED,
-- IDEMPOTENT (not empty: every request has an Idempotency-Key of its own).
local key = os.getenv("KEY")
local path = os.getenv("PATH_TO")
local field = os.getenv("FIELD")
local count = tonumber(os.getenv("COUNT"))
math.randomseed(tonumber(os.getenv("SEED")))
local next_number = 20000000000 + math.random(0, 60000) * 1000000
local headers = { ["Authorization"] = "Bearer " .. key, ["Content-Type"] = "application/json" }
local tail = field == "bvn" and '","amount":"100.00"}' or '"}'

local idempotent = os.getenv("IDEMPOTENT") ~= ""
local run = string.format("%d-%d-", os.time(), math.random(0, 2 ^ 31 - 1))
local sent = 0

request = function()
  local number, phone
  if count > 0 then
    local index = math.random(0, count - 1)
    number = 10000000000 + index
    phone = string.format("0803%07d", index)
  else
    next_number = next_number + 1
    number = next_number
    phone = "08031234567"
  end
  local body = string.format('{"%s":"%d","phone":"%s%s', field, number, phone, tail)
  if idempotent then
    sent = sent + 1
    headers["Idempotency-Key"] = run .. sent
  end
  return wrk.format("POST", path, headers, body)
end
