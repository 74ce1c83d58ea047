import { BaseSequencer, type TestSpecification } from 'vitest/node';

const order = ['slow', 'browser', 'service', 'unit'];
/** Small files that take minutes. */
const isWalk = ({ moduleId }: TestSpecification) => /\/invariants\/(?:reach|cost-of-)/.test(moduleId);

/** The files that take longest come first, so that no worker is left alone with one of them at the end: those of `slow`, and in each project as usual. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const byProject = sorted.toSorted((one, other) => order.indexOf(one.project.name) - order.indexOf(other.project.name));
    return byProject.toSorted((one, other) => Number(isWalk(other)) - Number(isWalk(one)));
  }
}
