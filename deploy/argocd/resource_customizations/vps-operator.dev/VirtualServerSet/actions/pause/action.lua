-- Pause: the set creates, changes and deletes no member.

obj.spec.paused = true
return obj
