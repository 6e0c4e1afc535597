import NocturneBatch
import NocturneConcurrency
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("RunControl")
struct RunControlTests {
    @Test("Whoever waits for the cancellation hears it, also when it came before")
    func cancelled() async {
        let control = RunControl()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await control.cancelled() }
            #expect(await until { control.changes.waiterCount == 1 })
            control.drain()
            #expect(await until { control.changes.waiterCount == 1 })
            #expect(control.mode == .draining && !control.flag.isCancelled)
            control.cancel()
            await group.waitForAll()
        }
        await control.cancelled()
        #expect(control.mode == .cancelled && control.flag.isCancelled)
        control.drain()
        #expect(control.mode == .cancelled)
    }

    @Test("A request names the items that were started before it, unless the others are put back")
    func startedBefore() {
        let request = FirstRequest(["c", "a", "b"])
        let text = request.text(active: ["a", "b", "d"])
        #expect(text?.hasPrefix("Started already, so that the order of the active items stays: a, b. With") == true)
        #expect(request.text(active: ["d"]) == nil)
        #expect(FirstRequest(["a"], now: true).text(active: ["a"]) == nil)
    }

    @Test("A pause stops no item, one that releases memory those that are active, and only for this reason")
    func pauses() {
        let control = RunControl()
        let flags = ["a", "b", "c"].map { control.flag(for: $0) }
        control.pause(RunPause(since: 10, until: 90))
        #expect(flags.allSatisfy { !$0.isCancelled } && control.pause == RunPause(since: 10, until: 90))
        control.cancel(item: "b")
        control.pause(RunPause(since: 20, releasesMemory: true))
        #expect(control.pause == RunPause(since: 10, releasesMemory: true))
        #expect(flags.allSatisfy { $0.isCancelled })
        #expect(["a", "b", "c"].map(control.postponement) == [.paused, nil, .paused])
        control.cancel(item: "c")
        #expect(control.postponement(of: "c") == nil)
        // One that is just being started.
        #expect(control.flag(for: "d").isCancelled && control.postponement(of: "d") == .paused)
        control.endPause()
        control.removeFlag(for: "a")
        #expect(control.pause == nil && ["a", "d"].map(control.postponement) == [nil, .paused])
        #expect(!control.flag(for: "a").isCancelled)
    }

    @Test("The wait for the approval of a pilot ends by that alone, and replaces another pause")
    func approval() {
        let control = RunControl()
        control.pause(RunPause(since: 1, until: 2))
        control.endPause(isApproved: true)
        #expect(control.pause?.until == 2)
        control.pause(RunPause(since: 5, awaitsApproval: true))
        control.pause(RunPause(since: 6, until: 7))
        control.endPause()
        #expect(control.pause == RunPause(since: 5, awaitsApproval: true))
        control.endPause(isApproved: true)
        #expect(control.pause == nil)
    }

    @Test("For an item that is to be processed now, others that are active step aside, unless the run ends anyway")
    func stepsAside() {
        let control = RunControl()
        let flags = ["a", "b", "c"].map { control.flag(for: $0) }
        control.cancel(item: "b")
        control.stepAside(for: ["c"])
        #expect(flags.map(\.isCancelled) == [true, true, false])
        #expect(["a", "b", "c"].map(control.postponement) == [.steppedAside, nil, nil])
        control.drain()
        control.stepAside(for: [])
        #expect(!flags[2].isCancelled)
    }

    @Test("A run that is to end does not wait in a pause, whichever comes first", arguments: [true, false])
    func drainInPause(pausesFirst: Bool) {
        let control = RunControl()
        let flag = control.flag(for: "a")
        if pausesFirst { control.pause(RunPause(since: 1)) } else { control.drain() }
        #expect(!flag.isCancelled)
        if pausesFirst { control.drain() } else { control.pause(RunPause(since: 1)) }
        #expect(flag.isCancelled && control.mode == .draining)
    }

    @Test("Requests to put items first are taken once")
    func order() {
        let control = RunControl()
        let requests = [FirstRequest(["a", "b"]), FirstRequest(["c", "b"], now: true)]
        for request in requests { control.putFirst(request) }
        #expect(control.takeFirst() == requests && control.takeFirst() == [])
    }
}
