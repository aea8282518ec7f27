-- Takes or renews the lease on leading, or tells who has it.
-- KEYS[1] the lease, "<term> <id> <address>"; it expires when nobody renews it.
-- KEYS[2] the same text of whoever led last, which says that a term is over; it expires ARGV[6] after the last renewal.
-- ARGV[1] id of the caller, ARGV[2] its address
-- ARGV[3] the term whose rooms the caller has in memory, 0: none
-- ARGV[4] the highest term that the caller has seen anywhere
-- ARGV[5] life of the lease, ms; ARGV[6] life of the memory of it, ms
-- ARGV[7] 1: take the lease if nobody has it
-- Reply {who, term, address, ms}: who is 1 the caller, 0 another one whose lease lives ms longer, 2 nobody after this one.
-- lead(a, http://a, 0, 0, 1200, 2592000000, 1) -> {1, 1, 'http://a', 1200}
assert(#KEYS == 2 and #ARGV == 7, 'lead: 2 keys, 7 arguments')

local function read(key)
  local text = redis.call('GET', key)
  if not text then return 0, '', '' end
  local term, id, address = string.match(text, '^(%d+) (%S+) (%S+)$')
  return tonumber(term), id, address
end

local id, address, held = ARGV[1], ARGV[2], tonumber(ARGV[3])
local _, holder, holder_address = read(KEYS[1])
local last, last_id, last_address = read(KEYS[2])
-- What a failover has taken back to an older term is not over: nobody has followed.
local is_mine = held > 0 and (last < held or (last == held and last_id == id))
if not is_mine then
  if holder ~= '' and holder ~= id then
    return {0, last, holder_address, redis.call('PTTL', KEYS[1])}
  end
  if ARGV[7] ~= '1' then return {2, last, last_address, 0} end
  held = math.max(last, tonumber(ARGV[4])) + 1
end
local text = string.format('%.0f %s %s', held, id, address)
redis.call('SET', KEYS[1], text, 'PX', ARGV[5])
redis.call('SET', KEYS[2], text, 'PX', ARGV[6])
return {1, held, address, tonumber(ARGV[5])}
