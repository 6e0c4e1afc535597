import NocturneOutput
import NocturneSystem
import Testing

@Suite("The decision about the claim of another run")
struct ClaimStateMachineTests {
    private static let own = ProcessIdentity(
        process: 10,
        startTicks: 1,
        bootID: "boot",
        pidNamespace: "pid:[1]",
        host: "here"
    )

    private func machine(
        run: String? = "own",
        locksExcludeAll: Bool = false,
        isRunning: Bool = false
    ) -> ClaimStateMachine {
        ClaimStateMachine(
            process: Self.own,
            run: run,
            locksExcludeAll: locksExcludeAll,
            isRunningHere: { _ in isRunning }
        )
    }

    private func claim(
        boot: String = "other boot",
        namespace: String = "pid:[2]",
        host: String = "there",
        run: String? = "other",
        beat: UInt64 = 0,
        isReleased: Bool = false
    ) -> FolderClaim.Found {
        let process = ProcessIdentity(process: 20, startTicks: 2, bootID: boot, pidNamespace: namespace, host: host)
        let record = FolderClaim.Record(
            holder: BatchLock.Holder(process: process, run: run),
            isReleased: isReleased,
            beat: beat
        )
        return FolderClaim.Found(generation: 7, text: [UInt8(beat)], record: record)
    }

    /// Looks once a second.
    /// - Returns: the step after the last look, or the first one that ends the looks.
    private func look(
        _ machine: inout ClaimStateMachine,
        at claim: FolderClaim.Found,
        from start: Int,
        through end: Int
    ) -> ClaimStateMachine.Step {
        for second in start...end {
            let step = machine.observe(claim, at: .seconds(second))
            if step != .lookAgain { return step }
        }
        return .lookAgain
    }

    @Test("takes a folder without a claim, or with one that was released")
    func free() {
        var machine = machine()
        #expect(machine.observe(nil, at: .zero) == .take(after: 0))
        #expect(machine.observe(claim(isReleased: true), at: .zero) == .take(after: 7))
    }

    @Test("continues the claim of an engine of the same run")
    func sameRun() {
        var own = machine(run: "other")
        #expect(own.observe(claim(), at: .zero) == .proceed(generation: 7))
        var nameless = machine(run: nil)
        #expect(nameless.observe(claim(run: nil), at: .zero) == .lookAgain)
    }

    @Test("asks for the process itself where this machine can see it")
    func sameMachine() {
        let seen = claim(boot: "boot", namespace: "pid:[1]")
        var active = machine(isRunning: true)
        #expect(active.observe(seen, at: .zero) == .refuse(seen.record?.holder))
        var ended = machine()
        #expect(ended.observe(seen, at: .zero) == .take(after: 7))
        // Whoever had the lock has closed it, and is about to end.
        var ending = machine(locksExcludeAll: true, isRunning: true)
        #expect(ending.observe(seen, at: .zero) == .take(after: 7))
    }

    @Test("waits for two signs of life where a local file system has an empty claim, as after a power cut")
    func empty() {
        let empty = FolderClaim.Found(generation: 7, text: [], record: nil)
        var local = machine(locksExcludeAll: true)
        #expect(local.observe(empty, at: .zero) == .lookAgain)
        #expect(local.observe(empty, at: .seconds(19)) == .lookAgain)
        #expect(local.observe(empty, at: .seconds(20)) == .take(after: 7))
        var share = machine()
        #expect(look(&share, at: empty, from: 0, through: 99) == .lookAgain)
        #expect(share.observe(empty, at: .seconds(100)) == .take(after: 7))
    }

    @Test("trusts a local file system's lock about runs of this machine, and only about those")
    func local() {
        var container = machine(locksExcludeAll: true)
        #expect(container.observe(claim(boot: "boot"), at: .zero) == .take(after: 7))
        var rebooted = machine(locksExcludeAll: true)
        #expect(rebooted.observe(claim(host: "here"), at: .zero) == .take(after: 7))
        var elsewhere = machine(locksExcludeAll: true)
        #expect(elsewhere.observe(claim(), at: .zero) == .lookAgain)
        var share = machine()
        #expect(share.observe(claim(boot: "boot"), at: .zero) == .lookAgain)
    }

    @Test("takes over after the whole patience without a sign of life, not before")
    func silent() {
        var machine = machine()
        let end = Duration.seconds(5) + ClaimStateMachine.patience
        #expect(look(&machine, at: claim(), from: 5, through: Int(end.components.seconds) - 1) == .lookAgain)
        #expect(machine.observe(claim(), at: end - .milliseconds(1)) == .lookAgain)
        #expect(machine.observe(claim(), at: end) == .take(after: 7))
        #expect(ClaimStateMachine.patience >= ClaimStateMachine.beat * 3)
    }

    @Test("begins to observe again where it did not look for long: both machines may have slept")
    func gap() {
        var machine = machine()
        #expect(look(&machine, at: claim(), from: 0, through: 60) == .lookAgain)
        #expect(look(&machine, at: claim(), from: 8000, through: 8099) == .lookAgain)
        #expect(machine.observe(claim(), at: .seconds(8100)) == .take(after: 7))
        var other = self.machine()
        #expect(other.observe(claim(), at: .zero) == .lookAgain)
        // A sign of life in the gap counts.
        let later = claim(beat: 1)
        #expect(other.observe(later, at: .seconds(8000)) == .refuse(later.record?.holder))
    }

    @Test("refuses at the first sign of life")
    func alive() {
        var machine = machine()
        #expect(machine.observe(claim(), at: .zero) == .lookAgain)
        let later = claim(beat: 1)
        #expect(machine.observe(later, at: .seconds(9)) == .refuse(later.record?.holder))
    }

    @Test("observes a new generation, and a file that was being written, from its beginning")
    func changed() {
        var machine = machine()
        let broken = FolderClaim.Found(generation: 6, text: [9], record: nil)
        #expect(machine.observe(broken, at: .zero) == .lookAgain)
        #expect(
            machine.observe(FolderClaim.Found(generation: 6, text: [], record: nil), at: .seconds(50)) == .lookAgain
        )
        #expect(look(&machine, at: claim(), from: 100, through: 199) == .lookAgain)
        #expect(machine.observe(claim(), at: .seconds(200)) == .take(after: 7))
    }
}
