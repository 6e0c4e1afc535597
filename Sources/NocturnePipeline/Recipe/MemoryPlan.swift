/// The stages of an item's way, in order.
public enum Stage: String, Sendable, Codable, CaseIterable {
    case load, prepare, infer, finish, mesh, write
}

/// A large buffer, alive from the stage that makes it through the last one that needs it.
public struct PlannedBuffer: Sendable, Hashable {
    public let name: String
    public let bytes: Int
    public let from: Stage
    public let through: Stage

    public init(_ name: String, bytes: Int, from: Stage, through: Stage) {
        self.name = name
        self.bytes = bytes
        self.from = from
        self.through = through
    }
}

/// What an item will need, known from its header.
public struct ItemPlan: Sendable {
    public var buffers: [PlannedBuffer]
    /// Tiles to be inferred.
    public var steps: Int

    public init(buffers: [PlannedBuffer], steps: Int) {
        self.buffers = buffers
        self.steps = steps
    }

    /// Bytes alive during a stage.
    public func bytes(in stage: Stage) -> Int {
        let index = Stage.allCases.firstIndex(of: stage)!
        return buffers.reduce(0) { sum, buffer in
            let first = Stage.allCases.firstIndex(of: buffer.from)!
            let last = Stage.allCases.firstIndex(of: buffer.through)!
            return sum + (first...max(first, last) ~= index ? buffer.bytes : 0)
        }
    }

    /// Bytes that travel on to the stage after this one: made by then, and still needed.
    public func bytes(after stage: Stage) -> Int {
        let index = Stage.allCases.firstIndex(of: stage)!
        return buffers.reduce(0) { sum, buffer in
            let first = Stage.allCases.firstIndex(of: buffer.from)!
            let last = Stage.allCases.firstIndex(of: buffer.through)!
            return sum + (first <= index && last > index ? buffer.bytes : 0)
        }
    }

    /// The most that is alive at once from a stage to the end: what the lease must still hold.
    public func peak(from stage: Stage = .load) -> Int {
        let index = Stage.allCases.firstIndex(of: stage)!
        return Stage.allCases[index...].map(bytes(in:)).max() ?? 0
    }
}
