import Glibc
package import NocturneSystem

/// What to do when the disk is full.
public enum FullDiskPolicy: String, Sendable, CaseIterable {
    /// Wait for space, for a day at most; then end the run as with ``stop``.
    case pause
    /// Start nothing more, and end the run so that it can be resumed.
    case stop
}

/// How the system refused to write, although there may be free bytes.
package enum DiskRefusal: Hashable, Sendable {
    case full
    case quota
    /// The number of files that can still be made is too small.
    case files(Int)
}

/// What was measured for one decision.
package struct MachineMeasurement: Hashable, Sendable {
    /// The folder on the disk that the next values are of; nil where the batch has only one.
    package var place: String?
    /// Free bytes on the disk; nil when that is not known.
    package var freeBytes: Int?
    /// What an empty disk would have, the smaller of two; nil when that is not known.
    package var capacityBytes: Int?
    /// Whether that is the disk of the folder for work, and not that of the output folder.
    package var isCapacityOfWork = false
    /// What an attempt to write succeeded with.
    package var grantedBytes: Int?
    /// What an attempt to write was refused for, and how.
    package var refusedBytes: Int?
    /// What the refusal is for; nil without one.
    package var refusal: DiskRefusal?
    /// Of the machine and of this process; nil when it was not asked for.
    package var memory: MemoryReading?
    /// Whether the free space was measured for an earlier item.
    var isEarlier = false

    /// Nothing is known yet.
    package init() {}
}

/// More is needed on the disk than is there.
package struct DiskShortage: Hashable, Sendable, CustomStringConvertible {
    /// For the item and all that are active, with ``spareBytes``.
    package let neededBytes: Int
    /// For this user, on the disk with the least; `Int.max` where that is not known.
    package let freeBytes: Int
    /// How the system refused to write; nil when it was not asked.
    package let refusal: DiskRefusal?
    /// A folder on the disk; nil where the batch has only one.
    package let place: String?

    /// Kept free for journal, report and events.
    package static let spareBytes = 1 << 20
    /// How long a run in which nothing is active waits for space.
    package static let patience = Duration.seconds(86_400)

    /// - Parameters:
    ///   - neededBytes: for the item and all that are active.
    ///   - freeBytes: for this user.
    ///   - refusal: how the system refused to write; nil when it was not asked.
    ///   - place: a folder on the disk; nil where the batch has only one.
    package init(neededBytes: Int, freeBytes: Int, refusal: DiskRefusal?, place: String? = nil) {
        self.neededBytes = neededBytes
        self.freeBytes = freeBytes
        self.refusal = refusal
        self.place = place
    }

    /// How long nothing is written after a number of refusals in a row: an attempt that succeeds can be misleading, too.
    package static func pause(afterRefusals count: Int) -> Duration {
        // 1 s, 2 s, 4 s and so on, up to a minute.
        count == 0 ? .zero : .seconds(min(60, 1 << min(count - 1, 6)))
    }

    /// What follows "the disk", such as "is full: 1 MiB free, about 2 MiB needed in /scratch".
    package var description: String { fact + (place.map { " in \($0)" } ?? "") }

    private var fact: String {
        if freeBytes < neededBytes {
            return "is full: \(ByteCount(freeBytes)) free, about \(ByteCount(neededBytes)) needed"
        }
        return switch refusal {
        case .quota: "has reached a quota: \(ByteCount(neededBytes)) may be needed"
        case .files(let count): "is full: \(count) more files can be made, though \(ByteCount(freeBytes)) are free"
        case .full, nil: "has refused to write, though \(ByteCount(freeBytes)) are free"
        }
    }
}
