import Dispatch
import Foundation
import NocturneCore
import NocturneSystem

/// What is kept from an engine that had to be ended for the next one.
extension Journal {
    /// Before the process is ended because of some items: they have failed if they had their time, and stay in flight if
    /// they are to be tried alone; all others in flight were only beside them, and wait again. Returns within seconds.
    func clear(of stuck: [StallDetector.Stuck]) {
        let done = DispatchSemaphore(value: 0)
        // On a thread of its own: the disk may be what hangs.
        let thread = Thread { [self] in
            let ids = Set(stuck.map(\.id))
            let others = ((try? items()) ?? []).filter { $0.state == .started && !ids.contains($0.id) }.map(\.id)
            let now = Timestamp.now()
            for late in stuck where late.isLate { try? settle([late.id], as: .failed, reason: late.words, at: now) }
            let paths = stuck.compactMap(\.path)
            if !paths.isEmpty { try? keepSilent((silentPaths() ?? []) + paths) }
            try? settle(others, as: .pending, reason: "interrupted: another item was stuck", at: now)
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

    /// Files at which engines of this run died before there were items.
    func poison() throws -> CrashingFiles {
        let kept = try setting("poison").flatMap {
            try? JSONDecoder().decode(CrashingFiles.self, from: Data($0.utf8))
        }
        return kept ?? CrashingFiles()
    }

    func keep(_ poison: CrashingFiles) throws {
        try setSetting("poison", String(decoding: try JSONEncoder().encode(poison), as: UTF8.self))
    }

    func keepSilent(_ paths: [String]) throws {
        try setSetting("silent", String(decoding: try JSONEncoder().encode(paths), as: UTF8.self))
    }
}
