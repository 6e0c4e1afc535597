import NocturneConcurrency
import NocturneJournal
import NocturneOutput
import NocturneSystem

/// What all parts of one run share.
struct RunContext: Sendable {
    let recipes: [any Recipe]
    let options: BatchOptions
    let limits: RunLimits
    let journal: Journal
    let pool: ComputePool
    /// For reading, writing and removing files.
    let blocking: BlockingPool
    let disk: DiskSpaceMonitor
    let health: OutputHealth
    let waiting: RunWaiting
    let pauses: PauseKeeper
    /// Nil where no results of other batches are taken.
    let reusable: ReusableResults?
    let device = DeviceMeter()

    var output: OutputFolder { options.output }
    var control: RunControl { waiting.control }
    var progress: ProgressReporter { waiting.progress }
    var time: any TimeSource { waiting.time }
}
