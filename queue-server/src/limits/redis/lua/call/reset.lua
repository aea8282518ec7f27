-- Makes keys as new. KEYS: the keys. ARGV: none. Reply: 0, now_us.
assert(#ARGV == 0, 'no arguments')

redis.call('DEL', unpack(KEYS))
return { 0, now_us }
