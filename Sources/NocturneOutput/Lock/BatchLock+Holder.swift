public import NocturneSystem

extension BatchLock {
    /// The run that holds the folder, as the lock file names it.
    public struct Holder: Codable, Sendable, Hashable {
        /// The process that works on the batch.
        public var process: ProcessIdentity
        /// The run, which keeps its name when its engine is restarted; requests are addressed to it. Nil without a supervisor.
        public var run: String?
        /// What the run waits for, such as free space on the disk; nil when it does not wait.
        public var waitingFor: String?

        /// - Parameters:
        ///   - process: that works on the batch.
        ///   - run: its name; nil without a supervisor.
        ///   - waitingFor: what it waits for; nil when it does not wait.
        public init(process: ProcessIdentity, run: String?, waitingFor: String? = nil) {
            self.process = process
            self.run = run
            self.waitingFor = waitingFor
        }
    }

    /// Whether a run works on an output folder.
    public enum State: Sendable, Hashable {
        case free
        /// A run does. Nil when its lock file does not name it, as one of another version or a damaged one.
        case held(Holder?)
        /// Unknown: the file system failed with this code.
        case unknown(Int32)

        /// Whether a run works on the folder.
        public var isHeld: Bool {
            if case .held = self { return true }
            return false
        }

        /// Whether no run works on the folder, for certain.
        public var isFree: Bool {
            if case .free = self { return true }
            return false
        }

        /// The run that works on the folder, where that is known.
        public var holder: Holder? {
            if case .held(let holder) = self { return holder }
            return nil
        }

        /// Names the run in a message.
        public var holderText: String {
            guard let process = holder?.process else { return "another process" }
            let host = process.host.flatMap { $0 == ProcessIdentity.current().host ? nil : " on \($0)" }
            return "process \(process.process)\(host ?? "")"
        }
    }
}
