-- The clock in production: Redis' own. `now_us` is a local of whatever follows.
local time = redis.call('TIME')
-- Keys stay up to a second longer than they are needed, each another part of it, so that those of one window do not all go at
-- once; what they say does not change by it.
local now_us, clock_ahead_ms = time[1] * 1000000 + time[2], time[2] % 1000
