"""A small set of good workflow files, in which the rules find nothing."""

from __future__ import annotations

PIN = "actions/checkout@0123456789abcdef0123456789abcdef01234567 # v1.2.3"
UPLOAD = "actions/upload-artifact@76543210fedcba9876543210fedcba9876543210 # v3.2.1"
DOWNLOAD = "actions/download-artifact@02468ace13579bdf02468ace13579bdf02468ace # v4.3.2"
RESTORE = "actions/cache/restore@fedcba9876543210fedcba9876543210fedcba98 # v3.4.5"
DEPLOY = "actions/deploy-pages@13579bdf02468ace13579bdf02468ace13579bdf # v2.3.1"

CALLER = f"""\
name: nightly
on:
  workflow_dispatch:
    inputs:
      torch: {{type: string, description: Which torch.}}
permissions: {{}}
jobs:
  plan:
    name: plan
    runs-on: ubuntu-latest
    timeout-minutes: 5
    permissions:
      contents: read # to check out
    outputs:
      matrix: ${{{{ steps.plan.outputs.matrix }}}}
    steps:
      - name: Check out
        uses: {PIN}
        with:
          persist-credentials: false
      - name: Set up
        uses: ./.github/actions/setup
        with:
          python-version: "3.11"
      - name: Look
        uses: {RESTORE}
        with:
          path: .ootci/past/plan.json
          key: plan
      - name: Plan
        id: plan
        shell: bash
        env:
          TORCH: ${{{{ inputs.torch }}}}
        run: ootci plan --torch "$TORCH"
  device:
    name: device
    needs: plan
    strategy:
      fail-fast: false
      matrix: ${{{{ fromJSON(needs.plan.outputs.matrix) }}}}
    permissions:
      contents: read # the callee needs it
    uses: ./.github/workflows/device.yml
    with:
      device-name: ${{{{ matrix.device }}}}
      minutes: 5
      shared: true
      plan-artifact: plan
      job: ${{{{ toJSON(matrix) }}}}
    secrets:
      login: ${{{{ secrets[matrix.login] }}}}
  report:
    name: report
    needs: [plan, device]
    if: ${{{{ !cancelled() }}}}
    runs-on: ubuntu-latest
    timeout-minutes: 5
    permissions:
      actions: write # to start and to download
    steps:
      - name: Download
        uses: {DOWNLOAD}
        with:
          run-id: 5
          github-token: ${{{{ github.token }}}}
      - name: Start
        shell: bash
        env:
          GITHUB_TOKEN: ${{{{ github.token }}}}
        run: ootci dispatch
  publish:
    name: publish
    needs: plan
    runs-on: ubuntu-latest
    timeout-minutes: 5
    permissions:
      contents: write # to push
      pages: write # to deploy
      id-token: write # to say who deploys
    steps:
      - name: Publish
        if: needs.plan.outputs.home == 'yes'
        shell: bash
        env:
          GITHUB_TOKEN: ${{{{ github.token }}}}
        run: ootci history publish
      - name: Deploy
        if: needs.plan.outputs.home == 'yes'
        uses: {DEPLOY}
  gate:
    name: gate
    needs: publish
    if: always()
    runs-on: ubuntu-latest
    timeout-minutes: 5
    steps:
      - name: May one merge?
        shell: bash
        run: ootci gate
  alert:
    name: alert
    needs: publish
    if: ${{{{ !cancelled() }}}}
    runs-on: ubuntu-latest
    timeout-minutes: 5
    permissions:
      issues: write # to open them
    steps:
      - name: Tell
        shell: bash
        env:
          GITHUB_TOKEN: ${{{{ github.token }}}}
        run: ootci alert
"""

CALLEE = f"""\
name: device
on:
  workflow_call:
    inputs:
      device-name: {{type: string, required: true, description: Its name.}}
      minutes: {{type: number, default: 3, description: Its time.}}
      shared: {{type: boolean, default: false, description: Whether others use it.}}
      plan-artifact: {{type: string, default: "", description: Its plan.}}
      job: {{type: string, default: "", description: Its job.}}
    secrets:
      login: {{required: true, description: What it logs in with.}}
    outputs:
      artifact: {{description: Its artifact., value: "${{{{ jobs.device.outputs.artifact }}}}"}}
permissions: {{}}
jobs:
  device:
    name: device
    if: ${{{{ !fromJSON(inputs.job).credentials }}}}
    runs-on: ubuntu-latest
    timeout-minutes: ${{{{ inputs.minutes }}}}
    container:
      image: ${{{{ inputs.job }}}}
    permissions:
      contents: read # to check out
    outputs:
      artifact: run
    steps: &steps
      - name: Check out
        uses: {PIN}
        with:
          repository: ${{{{ job.workflow_repository }}}}
          ref: ${{{{ job.workflow_sha }}}}
          persist-credentials: false
      - name: Build
        if: inputs.shared
        shell: bash
        run: |
          ootci build
          ootci test
      - name: Collect
        if: always()
        shell: bash
        run: ootci collect
      - name: Upload
        if: always()
        uses: {UPLOAD}
  device-private:
    name: device
    if: ${{{{ fromJSON(inputs.job).credentials }}}}
    runs-on: ubuntu-latest
    timeout-minutes: ${{{{ inputs.minutes }}}}
    container:
      image: ${{{{ inputs.job }}}}
      credentials:
        username: ${{{{ secrets.login || 'none' }}}}
        password: ${{{{ secrets.login || 'none' }}}}
    permissions:
      contents: read # to check out
    outputs:
      artifact: run
    steps: *steps
"""

CHECKS = f"""\
name: ci
on:
  pull_request:
permissions: {{}}
jobs:
  test:
    name: test
    runs-on: ubuntu-latest
    timeout-minutes: 5
    permissions:
      contents: read # to check out
    steps:
      - name: Restore
        uses: {RESTORE}
        with:
          path: .ootci/ccache
          key: compiled
      - name: Test
        shell: bash
        run: .ci/run
"""

REVIEW = f"""\
name: device-file
on:
  pull_request:
permissions: {{}}
jobs:
  review:
    name: review
    runs-on: ubuntu-latest
    timeout-minutes: 5
    permissions:
      contents: read # to check out
    steps:
      - name: Check out our own
        uses: {PIN}
        with:
          ref: ${{{{ github.event.pull_request.base.sha }}}}
          persist-credentials: false
      - name: Check out what is proposed
        uses: {PIN}
        with:
          path: proposed
          persist-credentials: false
      - name: Review
        shell: bash
        run: ootci device review proposed
"""

ANSWER = f"""\
name: answer
on:
  workflow_run:
    workflows: [device-file]
    types: [completed]
permissions: {{}}
jobs:
  answer:
    name: answer
    if: github.event.workflow_run.event == 'pull_request'
    runs-on: ubuntu-latest
    timeout-minutes: 5
    permissions:
      contents: read # to check out
      actions: read # to download
      pull-requests: write # to comment
    steps:
      - name: Check out our own
        uses: {PIN}
        with:
          persist-credentials: false
      - name: Answer
        shell: bash
        env:
          GITHUB_TOKEN: ${{{{ github.token }}}}
        run: ootci device answer
"""

COLLECT = f"""\
name: collect
on:
  workflow_run:
    workflows: [nightly]
    types: [completed]
permissions: {{}}
jobs:
  receive:
    name: receive
    runs-on: ubuntu-latest
    timeout-minutes: 5
    permissions:
      actions: write # to cancel
    steps:
      - name: Home
        id: home
        shell: bash
        run: ootci home
      - name: Receive
        if: steps.home.outputs.home == 'yes'
        shell: bash
        env:
          GITHUB_TOKEN: ${{{{ github.token }}}}
        run: ootci receive
      - name: Download our own
        uses: {DOWNLOAD}
"""

ACTION = """\
name: setup
inputs:
  python-version: {description: Which Python., required: true}
runs:
  using: composite
  steps:
    - name: Install ootci
      shell: bash
      run: "python -m pip install --only-binary=:all: --require-hashes --requirement requirements.txt"
"""

GOOD = {
    "workflows/nightly.yml": CALLER,
    "workflows/device.yml": CALLEE,
    "workflows/ci.yml": CHECKS,
    "workflows/device-file.yml": REVIEW,
    "workflows/answer.yml": ANSWER,
    "workflows/collect.yml": COLLECT,
    "actions/setup/action.yml": ACTION,
}

NIGHTLY, DEVICE, CI, PROPOSED, ANSWERED, COLLECTED, SETUP = GOOD
