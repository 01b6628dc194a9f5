-- Retain: the server keeps running when the object is deleted.

obj.spec.deletionPolicy = "Retain"
return obj
