-- Resume: ends a pause.

obj.spec.paused = false
return obj
