/// A state machine with a few callers around it, and an onlooker who knows what has to come out: small enough that every
/// state it can get into is visited.
public protocol SmallWorld {
    associatedtype Move
    /// States with equal keys go on alike for ever, whatever numbers their callers happen to bear.
    associatedtype Key: Hashable

    var key: Key { get }
    /// Everything that can happen next.
    var moves: [Move] { get }
    /// - Returns: What is wrong with the answer; nil when nothing is.
    mutating func make(_ move: Move) -> String?
    /// What must hold in every state, and does not.
    var fault: String? { get }
    /// Lets everything that was begun come to its end, without anything new.
    /// - Returns: Who is left, or what went wrong on the way.
    mutating func settle() -> String?
}

/// What a walk over the states of a small world has seen.
public struct Exploration: Sendable, CustomStringConvertible {
    /// States that differ in their key.
    public var states = 0
    /// Moves that were made from them: each one that was possible.
    public var transitions = 0
    /// The length of the longest way that had to be gone to a state.
    public var depth = 0
    /// Whether every state that can be reached was visited, by sequences of any length.
    public var isComplete = false
    /// The first fault, with the shortest sequence of moves that leads to it.
    public var fault: String?

    @usableFromInline
    init() {}

    public var description: String {
        "\(states) states, \(transitions) transitions, depth \(depth), " + (isComplete ? "all" : fault ?? "cut off")
    }

    /// Visits all states that can be reached from `start`, breadth first, each once.
    ///
    /// In every state the invariants are looked at, and a copy of it is settled: so nobody can be left behind, whatever
    /// happened before. Stops at the first fault, and after `limit` states.
    @inlinable
    public static func of<World: SmallWorld>(_ start: World, limit: Int = 2_000_000) -> Exploration {
        var result = Exploration()
        var seen: Set<World.Key> = [start.key]
        var ways: [(from: Int, move: World.Move?)] = [(-1, nil)]
        var layer: [(world: World, way: Int)] = [(start, 0)]
        func fault(_ words: String, _ way: Int, _ last: World.Move?) -> String {
            var steps: [String] = last.map { ["\($0)"] } ?? []
            var way = way
            while way >= 0, let move = ways[way].move {
                steps.append("\(move)")
                way = ways[way].from
            }
            return words + " after " + steps.reversed().joined(separator: ", ")
        }
        result.states = 1
        while !layer.isEmpty {
            var next: [(world: World, way: Int)] = []
            for (world, way) in layer {
                var settled = world
                if let words = world.fault ?? settled.settle() {
                    result.fault = fault(words, way, nil)
                    return result
                }
                for move in world.moves {
                    var after = world
                    result.transitions += 1
                    if let words = after.make(move) ?? after.fault {
                        result.fault = fault(words, way, move)
                        return result
                    }
                    guard seen.insert(after.key).inserted else { continue }
                    guard seen.count <= limit else { return result }
                    ways.append((way, move))
                    next.append((after, ways.count - 1))
                }
            }
            result.states += next.count
            if !next.isEmpty { result.depth += 1 }
            layer = next
        }
        result.isComplete = true
        return result
    }
}
