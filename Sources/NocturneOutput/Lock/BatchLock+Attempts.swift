import Glibc
package import NocturneConcurrency
package import NocturneSystem

extension ClaimStateMachine {
    /// A machine for this process, which knows whether the folder's file system is one of this machine alone.
    package init(_ output: OutputFolder, process: ProcessIdentity, run: String?) {
        self.init(process: process, run: run, locksExcludeAll: FileSystem.isLocal(output.hidden))
    }
}

extension BatchLock {
    /// Attempts to take the lock and the claim.
    struct Attempts: Sendable {
        /// The outcome of one attempt.
        package enum Result: Sendable {
            case taken(Taken)
            /// Another process of this machine has the lock.
            case locked
            /// Another run has the claim.
            case claimed(Holder?)
            /// It is not known yet whether the run that has the claim is active.
            case unclear(Holder?)
        }

        struct Taken: Sendable {
            /// Of the lock file, locked. Whoever gets it closes it.
            package let descriptor: Int32
            /// Of this run, in place.
            package let claim: FolderClaim
            /// From a run of another machine that was silent for too long.
            package var isTakenOver = false
        }

        /// This process, as it is written into the lock file and the claim.
        package let holder: Holder
        private let output: OutputFolder
        private let handedOn: Int32?
        private var machine: ClaimStateMachine

        /// Checks first that the batch belongs to this user: nothing of another one may be left in it.
        init(_ output: OutputFolder, handedOn: Int32?, run: String?) throws(BatchError) {
            try output.checkOwner()
            self.output = output
            self.handedOn = handedOn
            holder = Holder(process: .current(), run: run)
            machine = ClaimStateMachine(output, process: holder.process, run: run)
        }

        /// One attempt. Closes the lock's descriptor unless both lock and claim are taken: a lock without its claim would keep
        /// others out.
        /// - Parameter now: by a monotonic clock.
        package mutating func next(at now: Duration) throws(BatchError) -> Result {
            guard let descriptor = try BatchLock.descriptor(output, handedOn, BatchLock.lockFile) else {
                return .locked
            }
            let result: Result
            do throws(BatchError) {
                result = try claim(descriptor, at: now)
            } catch {
                close(descriptor)
                throw error
            }
            if case .taken = result { return result }
            close(descriptor)
            return result
        }

        private mutating func claim(_ descriptor: Int32, at now: Duration) throws(BatchError) -> Result {
            let found = FolderClaim.newest(in: output)
            switch machine.observe(found, at: now) {
            case .take(let generation):
                let claim = try FolderClaim.take(output, after: generation, for: holder)
                let isTakenOver = machine.mayReturn(found)
                return claim.map { .taken(Taken(descriptor: descriptor, claim: $0, isTakenOver: isTakenOver)) }
                    ?? .unclear(nil)
            case .proceed(let generation):
                let claim = FolderClaim.continued(output, generation, for: holder)
                return .taken(Taken(descriptor: descriptor, claim: claim))
            case .lookAgain: return .unclear(found?.record?.holder)
            case .refuse(let holder): return .claimed(holder)
            }
        }
    }

    /// How a lock is waited for.
    package struct Waiting: Sendable {
        /// For the system calls.
        package var pool: BlockingPool
        /// By which patience is measured, and attempts are apart.
        package var time: any TimeSource
        /// For a holder of this machine.
        package var patience: Duration
        /// Whether the run is still wanted.
        package var goesOn: @Sendable () -> Bool
        /// Reports what is waited for.
        package var note: @Sendable (String) async -> Void

        /// - Parameters:
        ///   - pool: for the system calls.
        ///   - time: by which patience is measured.
        ///   - patience: for a holder of this machine. Claims of other machines have their own.
        ///   - goesOn: whether the run is still wanted.
        ///   - note: reports what is waited for.
        package init(
            pool: BlockingPool,
            time: any TimeSource,
            patience: Duration = .seconds(1),
            goesOn: @escaping @Sendable () -> Bool = { true },
            note: @escaping @Sendable (String) async -> Void = { _ in }
        ) {
            self.pool = pool
            self.time = time
            self.patience = patience
            self.goesOn = goesOn
            self.note = note
        }
    }
}
