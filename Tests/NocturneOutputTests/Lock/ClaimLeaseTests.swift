import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("How long a claim can be relied on")
struct ClaimLeaseTests {
    @Test("It is shorter than other machines wait, whatever happens between two signs of life")
    func durations() {
        let twoBeats = ClaimStateMachine.beat * 2
        #expect(FolderClaim.Lease.duration + twoBeats < ClaimStateMachine.patience)
    }

    @Test("It counts from before the last sign of life, which may have taken long")
    func countsFromBefore() {
        let time = ManualTime()
        let lease = FolderClaim.Lease(time: time)
        #expect(lease.state == .valid)
        time.advance(by: .seconds(39))
        let isHeld = lease.renew {
            time.advance(by: .seconds(30))
            return true
        }
        #expect(isHeld && lease.state == .valid)
        time.advance(by: .seconds(9))
        #expect(lease.state == .valid)
        time.advance(by: .seconds(1))
        #expect(lease.state == .stale)
        #expect(lease.renew { true } && lease.state == .valid)
    }

    @Test(
        "It counts time in which the machine slept, or was suspended and then got the right date; a date that is set back changes nothing"
    )
    func asleep() {
        let time = ManualTime()
        let lease = FolderClaim.Lease(time: time)
        time.sleepMachine(seconds: 40)
        #expect(lease.state == .stale && time.monotonic == .zero)
        #expect(lease.renew { true } && lease.state == .valid)
        time.setWallClock(WallTime(seconds: time.wallClock.seconds + 3600))
        #expect(lease.state == .stale)
        #expect(lease.renew { true })
        time.setWallClock(WallTime(seconds: 0))
        #expect(lease.state == .valid)
        time.advance(by: .seconds(40))
        #expect(lease.state == .stale)
    }

    @Test("Once lost it stays lost")
    func lost() {
        let lease = FolderClaim.Lease(time: ManualTime())
        #expect(!lease.renew { false } && lease.state == .lost)
        #expect(!lease.renew { true } && lease.state == .lost)
    }
}
