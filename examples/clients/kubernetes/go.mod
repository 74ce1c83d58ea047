module example

go 1.26.0

require (
	golang.org/x/oauth2 v0.36.0
	k8s.io/apimachinery v0.37.2
	k8s.io/apiserver v0.37.2
)
