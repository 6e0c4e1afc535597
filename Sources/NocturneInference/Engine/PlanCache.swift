internal import Synchronization

/// The plans of a network for the shapes it ran with last. Each holds memory, so only three are kept.
final class PlanCache<Plan: Sendable>: Sendable {
    private static var limit: Int { 3 }

    /// Oldest first.
    private let plans = Mutex<[(shapes: [String: [Int]], width: Int, plan: Plan)]>([])

    /// The plan for shapes and a number of threads, and all that are kept, with it.
    ///
    /// It is made under the lock, so that two callers do not make the same one.
    func plan(
        _ shapes: [String: [Int]],
        width: Int,
        make: () throws -> Plan
    ) throws -> (plan: Plan, kept: [Plan]) {
        try plans.withLock { plans in
            if let known = plans.first(where: { $0.shapes == shapes && $0.width == width }) {
                return (known.plan, plans.map(\.plan))
            }
            // Removed first, so that the memory can be reused.
            if plans.count >= Self.limit { plans.removeFirst() }
            let plan = try make()
            plans.append((shapes, width, plan))
            return (plan, plans.map(\.plan))
        }
    }

    /// A plan for these shapes, for any number of threads.
    func known(_ shapes: [String: [Int]]) -> Plan? {
        plans.withLock { $0.first { $0.shapes == shapes }?.plan }
    }

    func removeAll() { plans.withLock { $0.removeAll() } }
}
