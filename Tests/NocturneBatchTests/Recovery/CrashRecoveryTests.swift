import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturneSystem
import Testing

private typealias Machine = CrashRecoveryStateMachine

@Suite("Recovery from a crash of the engine")
struct CrashRecoveryTests {
    private static func item(_ name: String, _ state: ItemState, crashes: Int = 0) -> JournalItem {
        var item = JournalItem(
            id: 1,
            key: name,
            name: name,
            path: "/in/" + name,
            fingerprint: "",
            state: state
        )
        item.crashes = crashes
        return item
    }

    private static func requeued(_ name: String, _ reason: ItemReason, crashes: Int) -> JournalItem {
        var item = item(name, .pending, crashes: crashes)
        item.reason = reason
        return item
    }

    private static func crashing(_ crashes: [[[String]]]) -> CrashingFiles {
        var files = CrashingFiles()
        for reading in crashes { _ = files.recordCrash(reading: reading, cause: "signal 9") }
        return files
    }

    private static func record(
        _ supervisor: String? = "s",
        outsideItems: Int = 0,
        crashing: [[[String]]] = [],
        unresponsive: [String] = []
    ) -> CrashRecord {
        var record = CrashRecord()
        record.supervisor = supervisor
        record.crashesOutsideItems = outsideItems
        record.crashingFiles = self.crashing(crashing)
        record.unresponsiveFiles = unresponsive
        return record
    }

    /// One start of the engine: what it finds, and what is to be done.
    struct Start: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var supervisor: String? = "s"
        var crash: String? = "signal 9"
        var items: [JournalItem] = []
        var record = CrashRecord()
        var reading: [[String]] = []
        let actions: [CrashRecoveryStateMachine.StartAction]
        var limits = CrashRecoveryStateMachine.DiscoveryLimits()
    }

    static let starts: [Start] = [
        Start(
            testDescription: "the first engine of a new batch",
            crash: nil,
            actions: [.save(record())]
        ),
        Start(
            testDescription: "without a supervisor",
            supervisor: nil,
            crash: nil,
            items: [item("a", .completed)],
            actions: []
        ),
        Start(
            testDescription: "after a run that was killed while an item was active: no crash counts",
            crash: nil,
            items: [item("a", .started, crashes: 1), item("b", .completed)],
            record: record("earlier"),
            actions: [
                .requeue([requeued("a", ItemReason(.interrupted, "interrupted"), crashes: 1)]), .save(record()),
            ]
        ),
        Start(
            testDescription: "the first engine of a run forgets what an earlier run knew about files",
            crash: nil,
            record: record("earlier", outsideItems: 2, crashing: [[["/in/x"]]], unresponsive: ["/in/y"]),
            actions: [.save(record())]
        ),
        Start(
            testDescription: "a crash counts against the active items, and ends a row of others",
            items: [item("a", .started), item("b", .pending), item("c", .started, crashes: 1)],
            record: record(outsideItems: 2),
            // What was read before is not the cause.
            reading: [["/in/old"]],
            actions: [
                .requeue([
                    requeued("a", ItemReason(.engineCrashed, text: "signal 9"), crashes: 1),
                    requeued("c", ItemReason(.engineCrashed, text: "signal 9"), crashes: 2),
                ]),
                .save(record()), .report("The engine crashed: signal 9. Active items: a, c."),
            ]
        ),
        Start(
            testDescription: "items that another supervisor's engine left active are not blamed",
            items: [item("a", .started)],
            record: record("earlier"),
            actions: [
                .requeue([requeued("a", ItemReason(.interrupted, "interrupted"), crashes: 0)]),
                .save(record(outsideItems: 1)), .report("The engine crashed: signal 9. Active items: none."),
            ]
        ),
        Start(
            testDescription: "the first crash without an active item",
            items: [item("a", .pending)],
            record: record(),
            actions: [.save(record(outsideItems: 1)), .report("The engine crashed: signal 9. Active items: none.")]
        ),
        Start(
            testDescription:
                "the third crash in a row without an active item ends the batch, which may be started again",
            record: record(outsideItems: 2),
            actions: [
                .save(record()), .report("The engine crashed: signal 9. Active items: none."),
                .endBatch("the engine crashed three times while no item was active, the last time: signal 9"),
            ]
        ),
        Start(
            testDescription: "a crash during discovery makes suspects, and files are read one by one",
            record: record(),
            reading: [["/in/x"], ["/in/y", "/in/z"]],
            actions: [
                .save(record(outsideItems: 1, crashing: [[["/in/x"], ["/in/y", "/in/z"]]])),
                .report(
                    "The engine crashed: signal 9. Active items: none. It may have been reading: /in/x, /in/y."
                ),
            ],
            limits: limits { $0.readsOneByOne = true }
        ),
        Start(
            testDescription: "a second crash at the same file excludes it, and does not count towards the end",
            record: record(outsideItems: 2, crashing: [[["/in/x"], ["/in/y"]]]),
            reading: [["/in/x"]],
            actions: [
                .save(record(crashing: [[["/in/x"], ["/in/y"]], [["/in/x"]]])),
                .report("The engine crashed: signal 9. Active items: none. It may have been reading: /in/x."),
            ],
            limits: limits { $0.excludedFiles = ["/in/x": "the engine crashed twice while reading it: signal 9"] }
        ),
        Start(
            testDescription: "a crash at another file makes that one the suspect",
            record: record(outsideItems: 1, crashing: [[["/in/x"]]]),
            reading: [["/in/y"]],
            actions: [
                .save(record(outsideItems: 2, crashing: [[["/in/x"]], [["/in/y"]]])),
                .report("The engine crashed: signal 9. Active items: none. It may have been reading: /in/y."),
            ],
            limits: limits { $0.readsOneByOne = true }
        ),
        Start(
            testDescription: "files that did not respond to the engine before are not opened",
            items: [item("a", .started)],
            record: record(unresponsive: ["/in/y"]),
            actions: [
                .requeue([requeued("a", ItemReason(.engineCrashed, text: "signal 9"), crashes: 1)]),
                .report("The engine crashed: signal 9. Active items: a."),
            ],
            limits: limits { $0.unresponsiveFiles = ["/in/y"] }
        ),
    ]

    private static func limits(
        _ change: (inout CrashRecoveryStateMachine.DiscoveryLimits) -> Void
    ) -> CrashRecoveryStateMachine.DiscoveryLimits {
        var limits = CrashRecoveryStateMachine.DiscoveryLimits()
        change(&limits)
        return limits
    }

    @Test(
        "Every start of the engine does what the journal and the end of the engine before it ask for",
        arguments: starts
    )
    func start(_ start: Start) {
        var machine = Machine(supervisor: start.supervisor, crash: start.crash)
        let actions = machine.engineStarted(start.items, start.record, reading: start.reading)
        #expect(actions == start.actions)
        #expect(machine.discoveryLimits == start.limits)
    }

    @Test(
        "An item is processed with others, after a crash alone, after two crashes never",
        arguments: [(0, Machine.ItemAction.process), (1, .processAlone), (2, .quarantine), (3, .quarantine)]
    )
    func item(crashes: Int, action: CrashRecoveryStateMachine.ItemAction) {
        #expect(Machine.itemFound(crashes: crashes) == action)
    }

    /// A file that crashes the engine whenever it is read, beside three harmless ones, with two threads.
    @Test("A crashing file is excluded after two crashes, and files beside it are not", arguments: 0..<4)
    func culprit(position: Int) {
        let files = (0..<4).map { "/in/\($0)" }
        var record = Self.record()
        var crash: String?
        var reading: [[String]] = []
        for engine in 1...3 {
            var machine = Machine(supervisor: "s", crash: crash)
            for case .save(let next) in machine.engineStarted([], record, reading: reading) { record = next }
            let limits = machine.discoveryLimits
            let width = limits.readsOneByOne ? 1 : 2
            let read = files.filter { limits.excludedFiles[$0] == nil }
            guard let hit = read.firstIndex(of: files[position]) else {
                #expect(engine == 3 && limits.excludedFiles.count == 1)
                return
            }
            crash = "signal 11"
            let start = hit / width * width
            reading = read[start..<min(start + width, read.count)].map { [$0] }
        }
        Issue.record("the file was never excluded")
    }
}
