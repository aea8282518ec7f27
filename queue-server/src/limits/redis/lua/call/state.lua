-- What is stored of one key. KEYS: the key. ARGV: none. Reply: 0, now_us, the value as it is; empty: as new.
assert(#ARGV == 0 and #KEYS == 1, 'one key')

return { 0, now_us, redis.call('GET', KEYS[1]) or '' }
