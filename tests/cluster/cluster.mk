# The test cluster; included by the Makefile at the top. Needs root and Debian packages, which `cluster-up` installs.

.PHONY: cluster-install cluster-up cluster-down cluster-shell test-cluster test-torch

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

# Not in the checkout: the nodes' users, who are not root, must be able to read it.
TORCH_VENV ?= /var/tmp/denpex-torch
TORCH ?= torch==2.13.0 numpy

$(TORCH_VENV)/ready:
	/usr/bin/python3 -m venv $(TORCH_VENV)
	$(TORCH_VENV)/bin/pip install --quiet $(TORCH)
	touch $@

# A cluster of its own: torch needs more memory than the nodes usually have.
test-torch: $(VENV)/ready-dev cluster-install $(TORCH_VENV)/ready ## real PyTorch on the cluster's nodes: trains, and fails (1 GB to install)
	@DENPEX_CLUSTER=1 DENPEX_CLUSTER_NAME=torch DENPEX_CLUSTER_NODE_MB=1536 DENPEX_TORCH=$(TORCH_VENV)/bin/python \
		$(BIN)/python -m pytest -m cluster tests/cluster/test_torch_scenarios.py $(ARGS)

.PHONY: record
record: $(VENV)/ready-dev ## keep a job of the test cluster as a case (ARGS='JOB NAME --cause ID --host HOST --rank N --note TEXT')
	@$(BIN)/python tests/cluster/record.py $(ARGS)
