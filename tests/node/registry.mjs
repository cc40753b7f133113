// SPDX-License-Identifier: Apache-2.0
// The official clients of E2B and Daytona build templates from images of a registry: IMAGE, which wants USERNAME and PASSWORD, and
// OPEN_IMAGE, which anybody may pull. One line of JSON per check; their names are read by test_registry.py.
import assert from 'node:assert/strict';
import { Sandbox, Template } from 'e2b';
import { Daytona, Image } from '@daytona/sdk';
import { describeError } from './failure.mjs';

const { IMAGE, OPEN_IMAGE, REGISTRY_USER: username, REGISTRY_PASSWORD: password } = process.env;
const sizes = { cpuCount: 1, memoryMB: 128 };
const checks = {
  async 'e2b: with a wrong login the build fails and says why'() {
    await assert.rejects(Template.build(Template().fromImage(IMAGE, { username, password: 'wrong' }), 'from-registry', sizes), /unauthorized|authentication required/);
    await assert.rejects(Template.build(Template().fromAWSRegistry(IMAGE, { accessKeyId: 'a', secretAccessKey: 'b', region: 'c' }), 'from-registry', sizes), /501.*aws/);
  },
  async 'e2b: a template is built from an image that wants a login'() {
    const steps = Template().fromImage(IMAGE, { username, password }).runCmd('cat /etc/os-release > /etc/built');
    await Template.build(steps, 'from-registry', sizes);
    const sandbox = await Sandbox.create('from-registry', { allowInternetAccess: false });
    try {
      assert.equal((await sandbox.commands.run('cat /etc/built; echo $FROM_IMAGE')).stdout, 'ID=busybox-test\nyes\n');
    } finally {
      await sandbox.kill();
    }
  },
  async 'daytona: an image is pulled and built upon'() {
    const daytona = new Daytona();
    const image = Image.base(OPEN_IMAGE).runCommands('cat /etc/os-release > /etc/built');
    const sandbox = await daytona.create({ image, networkBlockAll: true }, { timeout: 60 });
    try {
      assert.equal((await sandbox.process.executeCommand('cat /etc/built; echo $FROM_IMAGE')).result, 'ID=busybox-test\nyes\n');
    } finally {
      await sandbox.delete();
    }
    await assert.rejects(daytona.create({ image: `${OPEN_IMAGE}-absent` }), /manifest unknown/);
  },
};

for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    console.log(JSON.stringify({ name, ok: true }));
  } catch (error) {
    console.log(JSON.stringify({ name, ok: false, error: describeError(error) }));
  }
}
