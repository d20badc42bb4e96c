"""A small set of good workflow files, and single mistakes to be made in them: the proof of the rules."""

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
          path: .ootci/past/durations.json
          key: durations
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
  publish:
    name: publish
    needs: [plan, device]
    if: ${{{{ !cancelled() }}}}
    runs-on: ubuntu-latest
    timeout-minutes: 5
    permissions:
      contents: write # to push
      pages: write # to deploy
      id-token: write # to say who deploys
    steps:
      - name: Publish
        shell: bash
        env:
          GITHUB_TOKEN: ${{{{ github.token }}}}
        run: ootci history publish
      - name: Deploy
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
    if: ${{{{ !cancelled() && github.ref == 'refs/heads/main' }}}}
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
    runs-on: ubuntu-latest
    timeout-minutes: ${{{{ inputs.minutes }}}}
    container:
      image: ${{{{ inputs.job }}}}
      credentials:
        ${{{{ insert }}}}: ${{{{ fromJSON(inputs.job && secrets.login || '{{}}') }}}}
    permissions:
      contents: read # to check out
    outputs:
      artifact: run
    steps:
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

ACTION = """\
name: setup
inputs:
  python-version: {description: Which Python., required: true}
runs:
  using: composite
  steps:
    - name: Install what ootci needs
      shell: bash
      run: "python -m pip install --only-binary=:all: --require-hashes --requirement requirements.txt"
"""

GOOD = {
    "workflows/nightly.yml": CALLER,
    "workflows/device.yml": CALLEE,
    "workflows/ci.yml": CHECKS,
    "workflows/device-file.yml": REVIEW,
    "workflows/answer.yml": ANSWER,
    "actions/setup/action.yml": ACTION,
}

NIGHTLY, DEVICE, CI, PROPOSED, ANSWERED, SETUP = GOOD
HANDED = "    secrets:\n      login: ${{ secrets[matrix.login] }}\n"
INSERTED = "        ${{ insert }}: ${{ fromJSON(inputs.job && secrets.login || '{}') }}\n"

MISTAKES: tuple[tuple[str, str, str, str], ...] = (
    ("starts_with_no_permission", NIGHTLY, "permissions: {}", "permissions: {contents: read}"),
    ("starts_with_no_permission", DEVICE, "permissions: {}\n", ""),
    ("says_why_it_widens", NIGHTLY, "contents: write # to push", "contents: write"),
    ("says_why_it_widens", CI, "permissions:\n      contents: read # to check out", "permissions: read-all"),
    (
        "says_why_it_widens",
        NIGHTLY,
        "permissions:\n      contents: read # the callee needs it",
        "permissions: write-all",
    ),
    ("says_why_it_widens", DEVICE, "permissions:\n      contents: read # to check out", "permissions: read-all"),
    ("has_a_timeout", NIGHTLY, "    timeout-minutes: 5\n", ""),
    ("has_names", NIGHTLY, "      - name: Plan\n        id: plan\n", "      - id: plan\n"),
    ("has_names", CI, "    name: test\n", ""),
    ("has_names", SETUP, "name: setup\n", ""),
    ("keeps_logic_out", DEVICE, "          ootci build\n", "          ootci build\n" * 3),
    ("names_its_shell", DEVICE, "        shell: bash\n", ""),
    ("names_its_shell", SETUP, "shell: bash", "shell: sh"),
    ("runs_no_expression", NIGHTLY, 'ootci plan --torch "$TORCH"', "ootci plan --torch ${{ inputs.torch }}"),
    ("calls_the_tool", CI, ".ci/run", "make test"),
    ("pins_actions", DEVICE, PIN, "actions/checkout@v1"),
    ("pins_actions", DEVICE, PIN, PIN.partition(" #")[0]),
    ("pins_actions", DEVICE, PIN, PIN.replace("01234567 #", "0123456 #")),
    ("pins_actions", DEVICE, PIN, PIN.replace("v1.2.3", "v1.2.4")),
    ("pins_actions", DEVICE, PIN, "actions/checkout@" + "f" * 40 + " # v1.2.3"),
    ("shares_no_cache", DEVICE, UPLOAD, UPLOAD.replace("upload-artifact", "cache")),
    ("shares_no_cache", NIGHTLY, "path: .ootci/past/durations.json", "path: .ootci"),
    ("shares_no_cache", NIGHTLY, "actions/cache/restore", "actions/cache"),
    ("shares_no_cache", NIGHTLY, "run: ootci plan", "run: ootci build x && ootci plan"),
    ("shares_no_cache", NIGHTLY, 'python-version: "3.11"', 'python-version: "3.11"\n          cache: pip'),
    ("installs_with_checksums", SETUP, " --require-hashes", ""),
    ("installs_with_checksums", SETUP, " --only-binary=:all:", ""),
    ("leaves_no_credentials", DEVICE, "persist-credentials: false", "fetch-depth: 1"),
    ("leaves_no_credentials", NIGHTLY, "persist-credentials: false", "persist-credentials: true"),
    ("checks_out_its_own_commit", DEVICE, "${{ job.workflow_repository }}", "${{ github.repository }}"),
    ("checks_out_its_own_commit", DEVICE, "          ref: ${{ job.workflow_sha }}\n", ""),
    ("finishes_every_leg", NIGHTLY, "      fail-fast: false\n", ""),
    ("swallows_no_failure", DEVICE, "        if: inputs.shared\n", "        continue-on-error: true\n"),
    ("gives_vendor_code_nothing", DEVICE, "run: |\n", "env: {TOKEN: '${{ github.token }}'}\n        run: |\n"),
    ("gives_vendor_code_nothing", DEVICE, "    outputs:\n      artifact: run\n", "    environment: lab\n"),
    ("gives_vendor_code_nothing", DEVICE, "contents: read", "contents: write"),
    (
        "gives_vendor_code_nothing",
        NIGHTLY,
        '${{ inputs.torch }}\n        run: ootci plan --torch "$TORCH"',
        "${{ github.token }}\n        run: ootci torch build --planned",
    ),
    ("asks_for_what_it_needs", DEVICE, "contents: read", "actions: read"),
    ("asks_for_what_it_needs", NIGHTLY, "contents: write", "contents: read"),
    ("asks_for_what_it_needs", NIGHTLY, "      pages: write # to deploy\n", ""),
    ("asks_for_what_it_needs", NIGHTLY, "id-token: write", "id-token: none"),
    ("asks_for_what_it_needs", NIGHTLY, "GITHUB_TOKEN", "TOKEN"),
    ("asks_for_what_it_needs", NIGHTLY, "issues: write", "issues: read"),
    ("asks_for_what_it_needs", NIGHTLY, "run: ootci alert", "run: ootci alert\n        env: {}"),
    ("speaks_for_main_only", NIGHTLY, " && github.ref == 'refs/heads/main'", ""),
    ("speaks_for_main_only", NIGHTLY, "&& github.ref ==", "|| github.ref =="),
    ("asks_for_what_it_needs", CI, ".ci/run", "ootci relay report --status completed"),
    ("identifies_itself_only_where_asked", CI, "contents: read # to", "id-token: write # to"),
    ("gives_tokens_to_one_step", NIGHTLY, "permissions: {}", "permissions: {}\nenv: {TOKEN: '${{ github.token }}'}"),
    ("gives_tokens_to_one_step", NIGHTLY, HANDED, "    secrets: inherit\n"),
    ("gives_tokens_to_one_step", DEVICE, "    permissions:", "    env: {A: '${{ secrets.login }}'}\n    permissions:"),
    ("gives_vendor_code_nothing", DEVICE, "    permissions:", "    env: {A: '${{ secrets.login }}'}\n    permissions:"),
    ("gives_vendor_code_nothing", DEVICE, "inputs.job }}\n", "inputs.job }}\n      env: {A: '${{ secrets.login }}'}\n"),
    ("pulls_public_images_too", DEVICE, INSERTED, "        username: me\n        password: ${{ secrets.login }}\n"),
    ("pulls_public_images_too", DEVICE, f"\n{INSERTED}", " ${{ fromJSON(inputs.job && secrets.login || '{}') }}\n"),
    ("pulls_public_images_too", DEVICE, "secrets.login || '{}'", "secrets.login || 'null'"),
    ("pulls_public_images_too", DEVICE, "inputs.job && secrets.login || '{}'", "secrets.login"),
    ("hands_on_what_it_was_given", DEVICE, "secrets.login ||", "secrets[inputs.job] ||"),
    ("gives_no_secret_to_proposals", NIGHTLY, "on:\n", "on:\n  repository_dispatch:\n"),
    ("gives_no_secret_to_proposals", NIGHTLY, "on:\n", "on:\n  pull_request:\n"),
    ("is_safe_for_forks", CI, "pull_request:", "pull_request_target:"),
    ("is_safe_for_forks", CI, "runs-on: ubuntu-latest", "runs-on: [self-hosted, npu]"),
    ("is_safe_for_forks", CI, "contents: read", "contents: write"),
    ("is_safe_for_forks", CI, "run: .ci/run", "env: {TOKEN: '${{ secrets.TOKEN }}'}\n        run: .ci/run"),
    (
        "looks_at_proposals_with_our_own_tool",
        PROPOSED,
        "          ref: ${{ github.event.pull_request.base.sha }}\n",
        "",
    ),
    ("looks_at_proposals_with_our_own_tool", PROPOSED, ".base.sha", ".head.sha"),
    ("looks_at_proposals_with_our_own_tool", PROPOSED, "path: proposed", "ref: main"),
    ("looks_at_proposals_with_our_own_tool", PROPOSED, "contents: read", "packages: read"),
    ("asks_for_what_it_needs", ANSWERED, "      actions: read # to download\n", ""),
    ("asks_for_what_it_needs", ANSWERED, "pull-requests: write", "issues: write"),
    ("asks_for_what_it_needs", ANSWERED, "GITHUB_TOKEN", "TOKEN"),
    ("takes_a_strangers_run_for_data", ANSWERED, "    if: github.event.workflow_run.event == 'pull_request'\n", ""),
    ("takes_a_strangers_run_for_data", ANSWERED, "event == 'pull_request'", "event != 'push'"),
    (
        "takes_a_strangers_run_for_data",
        ANSWERED,
        "          persist",
        "          ref: ${{ github.event.workflow_run.head_sha }}\n          persist",
    ),
    (
        "takes_a_strangers_run_for_data",
        ANSWERED,
        "      - name: Answer",
        f"      - name: Download\n        uses: {DOWNLOAD}\n      - name: Answer",
    ),
    ("takes_a_strangers_run_for_data", ANSWERED, "ootci device answer", "ootci device review ."),
    ("local_calls_lead_somewhere", NIGHTLY, "uses: ./.github/actions/setup", "uses: ./.github/actions/set-up"),
    ("local_calls_lead_somewhere", NIGHTLY, "workflows/device.yml", "workflows/devices.yml"),
    ("calls_fit", NIGHTLY, "      device-name: ${{ matrix.device }}\n", ""),
    ("calls_fit", NIGHTLY, "      shared: true", "      sharing: true"),
    ("calls_fit", NIGHTLY, "      shared: true", "      shared: 'true'"),
    ("calls_fit", NIGHTLY, "      minutes: 5", "      minutes: five"),
    ("calls_fit", NIGHTLY, "      minutes: 5", "      minutes: ${{ inputs.torch }}"),
    ("calls_fit", NIGHTLY, "      minutes: 5", "      minutes: ${{ toJSON(matrix.minutes) }}"),
    ("calls_fit", NIGHTLY, 'python-version: "3.11"', "python-version: 3.11"),
    ("calls_fit", NIGHTLY, 'python-version: "3.11"', 'python: "3.11"'),
    ("calls_fit", NIGHTLY, HANDED, f"{HANDED}      token: x\n"),
    ("calls_fit", NIGHTLY, HANDED, ""),
    ("calls_fit", NIGHTLY, HANDED, "    secrets: inherit\n"),
    ("plans_and_jobs_go_together", NIGHTLY, "      job: ${{ toJSON(matrix) }}\n", ""),
    ("plans_and_jobs_go_together", NIGHTLY, "      plan-artifact: plan\n", ""),
    ("callers_grant_enough", NIGHTLY, "contents: read # the", "actions: read # the"),
    ("callers_grant_enough", DEVICE, "contents: read # to", "contents: write # to"),
    ("reports_in_every_case", NIGHTLY, "    if: ${{ !cancelled() }}\n", ""),
    ("reports_in_every_case", NIGHTLY, "    if: ${{ !cancelled() }}", "    if: needs.device.result == 'success'"),
    ("reports_in_every_case", NIGHTLY, "    if: always()\n", ""),
    ("reports_in_every_case", NIGHTLY, "    if: always()", "    if: ${{ !cancelled() }}"),
    ("reports_in_every_case", DEVICE, "        if: always()\n        shell", "        shell"),
    ("reports_in_every_case", DEVICE, "        if: always()\n        uses", "        uses"),
    ("interfaces_are_described", NIGHTLY, "type: string, description: Which torch.", "type: string"),
    ("interfaces_are_described", NIGHTLY, "torch: {", "which_torch: {"),
    ("interfaces_are_described", DEVICE, "description: Its artifact., ", ""),
    ("interfaces_are_described", DEVICE, "minutes: {type: number, ", "minutes: {"),
    ("interfaces_are_described", SETUP, "description: Which Python., ", ""),
    ("references_lead_somewhere", NIGHTLY, "inputs.torch", "inputs.tourch"),
    ("references_lead_somewhere", NIGHTLY, "        id: plan\n", ""),
    ("references_lead_somewhere", NIGHTLY, "    needs: plan\n", ""),
    ("references_lead_somewhere", NIGHTLY, "needs.plan.outputs.matrix", "needs.plan.outputs.martix"),
    ("references_lead_somewhere", DEVICE, "jobs.device.outputs.artifact", "jobs.devices.outputs.artifact"),
    ("references_lead_somewhere", DEVICE, "if: inputs.shared", "if: inputs.share"),
    ("shares_no_cache", CI, "path: .ootci/ccache", "path: .venv"),
    ("shares_no_cache", CI, "contents: read", "contents: write"),
    ("shares_no_cache", CI, "run: .ci/run", "run: .ci/release"),
    ("shares_no_cache", CI, "run: .ci/run", "run: .ci/run\n        env: {TOKEN: '${{ github.token }}'}"),
    ("shares_no_cache", CI, "- name: Test", "- name: Upload\n        uses: " + UPLOAD + "\n      - name: Test"),
)
"""One mistake each: the rule that finds it, the file, the text to be replaced and what it becomes."""
