package import NocturneSystem
import Synchronization

extension FolderClaim {
    /// For how long a run may rely on its claim without looking at it again.
    ///
    /// Another machine takes the folder over after ``ClaimStateMachine/patience`` without a sign of life. A process that was
    /// frozen, or hung in a call to the share, and a machine that was suspended, do not notice how much time has passed. So whoever
    /// writes something shared asks first, and the answer is only good for a part of that time, counted from before the last successful
    /// sign of life.
    package final class Lease: Sendable {
        /// What the lease permits.
        package enum State: Hashable, Sendable {
            /// The folder may be written to.
            case valid
            /// Too much time has passed: a sign of life has to be given first.
            case stale
            /// Another run has the folder.
            case lost
        }

        /// Well below ``ClaimStateMachine/patience``.
        package static let duration = Duration.seconds(40)

        private struct Moment {
            let sinceBoot: Duration
            let date: Int

            init(_ time: any TimeSource) { (sinceBoot, date) = (time.sinceBoot, time.wallClock.seconds) }

            /// How long others may have seen nothing since an earlier moment: by the clock that shows more. A virtual machine that was
            /// suspended by its host has not slept by its own clock, and only its date is corrected afterwards. A date that was set for
            /// another reason costs one sign of life.
            func silence(since earlier: Moment) -> Duration {
                max(sinceBoot - earlier.sinceBoot, .seconds(date &- earlier.date))
            }
        }

        private let time: any TimeSource
        private let confirmed: Mutex<(at: Moment, isLost: Bool)>

        /// Begins with a sign of life at this moment: the claim has just been written.
        package init(time: any TimeSource) {
            self.time = time
            confirmed = Mutex((Moment(time), false))
        }

        /// Asks nobody: it depends on the time alone.
        package var state: State {
            let now = Moment(time)
            return confirmed.withLock { confirmed in
                if confirmed.isLost { return .lost }
                return now.silence(since: confirmed.at) < Lease.duration ? .valid : .stale
            }
        }

        /// - Parameter beat: gives a sign of life; false when another run has the folder.
        /// - Returns: whether the folder is still this run's. Once it is not, it never is again.
        package func renew(by beat: () -> Bool) -> Bool {
            let start = Moment(time)
            let isHeld = beat()
            return confirmed.withLock { confirmed in
                if isHeld { confirmed.at = start } else { confirmed.isLost = true }
                return !confirmed.isLost
            }
        }
    }
}
