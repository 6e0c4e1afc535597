import NocturneBatch
import NocturneTestSupport
import Testing

/// Every state that the scheduler's decisions can get into with a few items, whatever the disk, the memory, the items and
/// the users do: nothing is lost, nothing both waits and is settled, the budget holds, suspects and lean plans are alone,
/// an item is retried at most twice, a large item is not starved and holds up nobody for nothing, nothing is started in a pause, what a
/// user has put first is overtaken by nobody, an urgent item is alone, and every batch ends.
@Suite("AdmissionStateMachine, every state")
struct AdmissionExplorationTests {
    typealias Needs = AdmissionStateMachine.Needs

    private static let small = Needs(memoryBytes: 1, diskBytes: 1)
    private static let large = Needs(memoryBytes: 4, diskBytes: 10)
    private static let lean = Needs(memoryBytes: 2, diskBytes: 1, isLean: true)
    /// Fits on the disk only when nothing else is written.
    private static let wide = Needs(memoryBytes: 1, diskBytes: 20)

    struct Situation: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let world: @Sendable (AdmissionFlaw?) -> AdmissionWorld
    }

    private static func situation(
        _ name: String,
        _ needs: [Needs],
        suspects: Set<Int> = [],
        stopsWhenFull: Bool = false,
        _ events: AdmissionWorld.Events
    ) -> Situation {
        Situation(testDescription: name) { flaw in
            AdmissionWorld(needs, suspects: suspects, budget: 4, events, stopsWhenFull: stopsWhenFull, flaw: flaw)
        }
    }

    static let situations: [Situation] = [
        situation(
            "a large item among small ones, under pressure",
            [small, large, small, small],
            AdmissionWorld.Events(ends: [.completes, .fails], pressure: true)
        ),
        situation(
            "a large item among small ones, on a disk that fills up and gets free",
            [small, large, small, wide],
            AdmissionWorld.Events(disk: true)
        ),
        situation(
            "a disk that fills up and ends the run",
            [small, large, small],
            stopsWhenFull: true,
            AdmissionWorld.Events(ends: [.completes, .lacksSpace], disk: true)
        ),
        situation(
            "an item that needs the whole disk among small ones",
            [small, wide, small, small],
            AdmissionWorld.Events()
        ),
        situation(
            "suspects and a lean plan",
            [small, small, lean],
            suspects: [1],
            AdmissionWorld.Events(ends: [.completes, .failsForNow], pressure: true)
        ),
        situation(
            "failures that pass and refusals to write",
            [small, large, small],
            AdmissionWorld.Events(ends: [.completes, .failsForNow, .lacksSpace], refusals: 2)
        ),
        situation(
            "memory that other programs take and give back",
            [small, large, small],
            AdmissionWorld.Events(ends: [.completes, .failsForNow], memory: true, pressure: true)
        ),
        situation(
            "users who cancel items and end the run",
            [small, large, small],
            AdmissionWorld.Events(ends: [.completes, .isInterrupted], cancels: true, drains: true)
        ),
        situation(
            "pauses, with and without the memory of active items",
            [small, large, small],
            AdmissionWorld.Events(
                ends: [.completes, .isReleased],
                cancels: true,
                drains: true,
                pauses: true
            )
        ),
        situation(
            "a pause in which the time is over",
            [small, large, small],
            AdmissionWorld.Events(ends: [.completes, .isReleased], pauses: true, deadline: true)
        ),
        situation(
            "results of other batches that cannot be taken",
            [small, large, small],
            AdmissionWorld.Events(ends: [.completes, .isNotReusable], disk: true, pressure: true)
        ),
        situation(
            "users who put items first",
            [small, large, small],
            AdmissionWorld.Events(ends: [.completes, .failsForNow], pressure: true, firsts: 2)
        ),
        situation(
            "users who put items first and pause the run, on a disk that fills up",
            [small, large, small],
            AdmissionWorld.Events(ends: [.completes, .isReleased], disk: true, pauses: true, firsts: 1)
        ),
        situation(
            "users who need items now, for which others step aside, put items first, and items that fail",
            [small, large, small],
            AdmissionWorld.Events(ends: [.completes, .failsForNow, .isReleased], firsts: 1, urgent: 1)
        ),
        situation(
            "users who need items now, cancel items, pause and end the run",
            [small, large, small],
            AdmissionWorld.Events(
                ends: [.completes, .isReleased],
                cancels: true,
                drains: true,
                pauses: true,
                urgent: 1
            )
        ),
        situation(
            "users who need items now, on a disk that fills up",
            [small, large, small],
            AdmissionWorld.Events(ends: [.completes, .isReleased], disk: true, urgent: 2)
        ),
    ]

    @Test("every state can be left towards the end, and none breaks a promise", arguments: situations)
    func everyState(situation: Situation) {
        let seen = Exploration.of(situation.world(nil), limit: 400_000)
        #expect(seen.fault == nil)
        #expect(seen.isComplete, "\(seen)")
        #expect(seen.states > 10, "\(seen)")
    }

    @Test("each of these flaws is found in one of the situations", arguments: AdmissionFlaw.allCases)
    func flaws(flaw: AdmissionFlaw) {
        let isFound = AdmissionExplorationTests.situations.contains { situation in
            // The shortest way to a fault is found first.
            Exploration.of(situation.world(flaw), limit: 5000).fault != nil
        }
        #expect(isFound)
    }
}
