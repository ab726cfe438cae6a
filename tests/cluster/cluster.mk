# The test cluster; included by the Makefile at the top. Needs root and Debian packages, which `cluster-up` installs.

.PHONY: cluster-install cluster-up cluster-down cluster-shell test-cluster

CLUSTER := python3 tests/cluster/manage.py

cluster-install: ## install the Debian packages of the test cluster (root), or name them
	@$(CLUSTER) install

cluster-up: ## boot the test cluster: three nodes, Slurm, NFS
	@$(CLUSTER) up

cluster-down: ## end it, or what an interrupted run left of it
	@$(CLUSTER) down

cluster-shell: ## a shell on its controller
	@$(CLUSTER) shell

test-cluster: $(VENV)/ready-dev cluster-install ## run the tests that need the cluster (ARGS='-k word' to choose)
	@DENPEX_CLUSTER=1 $(BIN)/python -m pytest -m cluster tests/cluster $(ARGS)
