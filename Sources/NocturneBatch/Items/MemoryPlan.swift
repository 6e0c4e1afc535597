/// The stages of the pipeline, in order. A recipe may lack some.
public enum Stage: String, Sendable, Codable, CaseIterable {
    case load, prepare, infer, finish, render, write
}

extension Stage: Comparable {
    private var place: Int { Stage.allCases.firstIndex(of: self)! }

    /// The order of the pipeline.
    public static func < (left: Stage, right: Stage) -> Bool { left.place < right.place }

    /// The stage after this one; nil after the last.
    var next: Stage? { Stage.allCases.first { $0 > self } }
}

/// A large buffer, alive from the stage that makes it through the last one that needs it.
public struct PlannedBuffer: Sendable, Hashable {
    /// For messages and tests.
    public let name: String
    /// The whole size, whether it is in memory or in a file.
    public let bytes: Int
    /// The stage that makes it.
    public let from: Stage
    /// The last stage that needs it, which frees it.
    public let through: Stage
    /// Whether it is backed by a file in staging.
    public let isInFile: Bool

    /// - Parameters:
    ///   - name: for messages and tests.
    ///   - bytes: its size.
    ///   - from: the stage that makes it.
    ///   - through: the last stage that needs it.
    ///   - isInFile: whether it is backed by a file in staging.
    public init(_ name: String, bytes: Int, from: Stage, through: Stage, isInFile: Bool = false) {
        self.name = name
        self.bytes = bytes
        self.from = from
        self.through = through
        self.isInFile = isInFile
    }

    /// A buffer of one stage.
    public init(_ name: String, bytes: Int, in stage: Stage, isInFile: Bool = false) {
        self.init(name, bytes: bytes, from: stage, through: stage, isInFile: isInFile)
    }
}

/// What an item will need, known from its header.
public struct ItemPlan: Sendable {
    /// In any order. What is not listed here is not budgeted.
    public var buffers: [PlannedBuffer]
    /// Tiles to be inferred.
    public var steps: Int
    /// Whether it is the plan that saves memory at the cost of time: big buffers lie in files, no other item is active.
    public var isLean: Bool
    /// Bytes on the disk of the output folder at most: what lies in staging, and the result. Of a recipe's plan without the
    /// buffers in files.
    public var diskBytes: Int

    /// - Parameters:
    ///   - buffers: all large ones.
    ///   - steps: tiles to be inferred.
    ///   - isLean: whether it is the plan that saves memory at the cost of time.
    ///   - diskBytes: at most, without the buffers in files.
    public init(buffers: [PlannedBuffer], steps: Int, isLean: Bool = false, diskBytes: Int = 0) {
        self.buffers = buffers
        self.steps = steps
        self.isLean = isLean
        self.diskBytes = diskBytes
    }

    /// The plan for a staging folder of this kind: its memory and its disk space are what they will be there.
    /// - Parameter inMemory: whether files in staging are memory, so that all of them count as such.
    package func placingFiles(inMemory: Bool) -> ItemPlan {
        var plan = self
        // Not their sum: one file may be gone before the next one is made.
        let bytesInFiles = ItemPlan(buffers: buffers.filter(\.isInFile), steps: 0).peak()
        if inMemory {
            plan.buffers.append(PlannedBuffer("result, in memory", bytes: diskBytes, from: .load, through: .write))
        } else {
            plan.buffers.removeAll(where: \.isInFile)
        }
        plan.diskBytes += bytesInFiles
        return plan
    }

    /// Bytes alive during a stage.
    public func bytes(in stage: Stage) -> Int {
        // A buffer counts in its first stage even if its last one is earlier, as in recipes that lack a stage.
        buffers.reduce(0) { $0 + ($1.from <= stage && stage <= max($1.from, $1.through) ? $1.bytes : 0) }
    }

    /// The most that is alive at once from a stage to the end: what the lease must still hold.
    public func peak(from stage: Stage = .load) -> Int {
        Stage.allCases.filter { $0 >= stage }.map(bytes(in:)).max() ?? 0
    }
}
