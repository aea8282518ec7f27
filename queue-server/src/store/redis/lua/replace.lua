-- Puts what was laid beside them in the place of all records of an event, if no later leader has it.
-- KEYS[1] the head, KEYS[2] the records, as in commit.lua; KEYS[3] the new records, a hash that expires if it is not taken.
-- ARGV[1] term, ARGV[2] id of the caller
-- ARGV[3] count of the commits after this one
-- ARGV[4] life of the keys, ms
-- ARGV[5] format of the new records
-- Reply {1, 0, 0}: done; {0, term, 0}: a later leader has the event; {2, 0, 0}: the new records are gone.
-- replace(3, a, 8, 604800000, 1) -> {1, 0, 0}
assert(#KEYS == 3 and #ARGV == 5, 'replace: 3 keys, 5 arguments')

local head = redis.call('HMGET', KEYS[1], 'term', 'id')
local term, mine = tonumber(head[1] or 0), tonumber(ARGV[1])
if term > mine or (term == mine and head[2] ~= ARGV[2]) then return {0, term, 0} end
if redis.call('EXISTS', KEYS[3]) == 0 then return {2, 0, 0} end
redis.call('RENAME', KEYS[3], KEYS[2])
redis.call('HSET', KEYS[1], 'term', ARGV[1], 'id', ARGV[2], 'seq', ARGV[3], 'format', ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
return {1, 0, 0}
