-- Protect: the operator does not cancel the server, and the guards refuse to delete the object.

obj.spec.deletionProtection = true
return obj
