import Dispatch
import Foundation
import NocturneCore

/// What is kept from an engine that had to be ended for the next one.
extension Journal {
    /// Before the process is ended because of one item: that one has failed if it had its time, and stays in flight if it
    /// is to be tried alone; all others in flight were only beside it, and wait again. Returns within seconds.
    func clear(of stuck: StallWatch.Stuck) {
        let done = DispatchSemaphore(value: 0)
        // On a thread of its own: the disk may be what hangs.
        let thread = Thread { [self] in
            let others = ((try? items()) ?? []).filter { $0.state == .started && $0.id != stuck.id }.map(\.id)
            let now = Timestamp.now()
            if stuck.isLate { try? settle([stuck.id], as: .failed, reason: stuck.words, at: now) }
            if let path = stuck.path { try? keepSilent((silentPaths() ?? []) + [path]) }
            try? settle(others, as: .pending, reason: "interrupted: \(stuck.words)", at: now)
            done.signal()
        }
        thread.start()
        _ = done.wait(timeout: .now() + 5)
    }

    /// Files that the engines before this one were stuck in; not to be touched by this one: who opens a file that another
    /// process still waits for may not even be killed.
    func silentPaths() -> [String]? {
        (try? setting("silent")).flatMap { $0 }.flatMap {
            try? JSONDecoder().decode([String].self, from: Data($0.utf8))
        }
    }

    func keepSilent(_ paths: [String]) throws {
        try setSetting("silent", String(decoding: try JSONEncoder().encode(paths), as: UTF8.self))
    }
}
