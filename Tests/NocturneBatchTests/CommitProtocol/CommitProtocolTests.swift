import NocturneTestSupport
import Testing

@Suite("Journal and commit, with a crash at every step")
struct CommitProtocolTests {
    @Test(
        "Whatever dies and whenever, each item is completed once, or quarantined after two deaths",
        arguments: [(false, true), (true, true), (true, false)]
    )
    func everyCrash(hasOldResult: Bool, exchanges: Bool) {
        let seen = Exploration.of(CommitWorld(hasOldResult: hasOldResult, exchanges: exchanges))
        #expect(seen.fault == nil)
        #expect(seen.isComplete)
        #expect(seen.states > 1_400 && seen.transitions > 6_000, "\(seen)")
    }

    @Test("Each of these flaws is found", arguments: CommitFlaw.allCases)
    func flaws(flaw: CommitFlaw) {
        let world = CommitWorld(hasOldResult: true, exchanges: flaw != .forgetsReplaced, flaw: flaw)
        #expect(Exploration.of(world).fault != nil)
    }
}
