-- Protect: the operator cancels no member, and the guards refuse to delete the set and its members.

obj.spec.template.spec.deletionProtection = true
return obj
