-- Changes records of an event, all or none, if the caller still leads and Redis has forgotten nothing of what it confirmed.
-- KEYS[1] the head, as in claim.lua; KEYS[2] the records, a hash. Both expire ARGV[6] after the last commit.
-- ARGV[1] term, ARGV[2] id of the caller
-- ARGV[3] fewest commits that Redis must have, ARGV[4] most: one that was not answered may have come or not
-- ARGV[5] count of the commits after this one
-- ARGV[6] life of the keys, ms
-- ARGV[7] how many records are put; then each one's key and value, then the keys of those that go
-- Reply {1, 0, 0}: done; {0, term, 0}: a later leader has the event; {2, seq, 0}: Redis has other commits, nothing is changed.
-- commit(3, a, 7, 7, 8, 604800000, 1, k, v) -> {1, 0, 0}
assert(#KEYS == 2 and #ARGV >= 7, 'commit: 2 keys, at least 7 arguments')

local head = redis.call('HMGET', KEYS[1], 'term', 'id', 'seq')
local term, mine, seq = tonumber(head[1] or 0), tonumber(ARGV[1]), tonumber(head[3] or 0)
if term > mine or (term == mine and head[2] ~= ARGV[2]) then return {0, term, 0} end
if term < mine or seq < tonumber(ARGV[3]) or seq > tonumber(ARGV[4]) then return {2, seq, 0} end

-- No more at once than the stack of Lua takes.
local function chunks(command, from, to)
  for first = from, to, 1000 do
    redis.call(command, KEYS[2], unpack(ARGV, first, math.min(first + 999, to)))
  end
end
local last_put = 7 + 2 * tonumber(ARGV[7])
chunks('HSET', 8, last_put)
chunks('HDEL', last_put + 1, #ARGV)
redis.call('HSET', KEYS[1], 'seq', ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[6])
redis.call('PEXPIRE', KEYS[2], ARGV[6])
return {1, 0, 0}
