-- The clock in parity tests: the last two of ARGV are the time in microseconds, and how many milliseconds are added to
-- every expiry, so that a history of any year does not expire while it is told.
local clock_ahead_ms = tonumber(table.remove(ARGV))
local now_us = tonumber(table.remove(ARGV))
