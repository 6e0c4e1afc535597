import NocturneConcurrency
import NocturneSystem
import NocturneTestSupport
import Synchronization
import Testing

private struct Fault: Error, Equatable {
    let place: String
}

@Suite("Work on portions")
struct PortionTests {
    /// The calls of three portions, 1 to 3, of which the last is read only when the second was stored.
    private static func calls(_ scope: ComputeScope, failing place: String? = nil) throws -> [String] {
        let calls = Mutex<[String]>([])
        let stored = Mutex(0)
        let call: @Sendable (String) throws -> Void = { name in
            calls.withLock { $0.append(name) }
            if name == place { throw Fault(place: name) }
        }
        do {
            try scope.forEachPortion { last -> Int? in
                let next = (last ?? 0) + 1
                try call("read \(next)")
                return next <= (stored.withLock { $0 } == 2 ? 3 : 2) ? next : nil
            } work: { portion in
                try call("work \(portion)")
                return portion
            } store: { product in
                stored.withLock { $0 = product }
                try call("store \(product)")
            }
        } catch let fault as Fault {
            #expect(fault.place == place)
            return calls.withLock { $0 } + ["failed"]
        }
        return calls.withLock { $0 }
    }

    @Test("products are stored in order, and portions that a product has led to are read")
    func order() async throws {
        // On one thread the order of all calls is fixed.
        let expected = [
            "read 1", "work 1", "read 2", "work 2", "store 1", "read 3", "store 2", "read 3", "work 3", "read 4",
            "store 3", "read 4",
        ]
        #expect(try Self.calls(.serial()) == expected)
        try await withPools(widths: [2, 5]) { pool in
            let calls = try await pool.run { try Self.calls(ComputeScope(pool: pool, flag: CancellationFlag())) }
            #expect(calls.filter { !$0.hasPrefix("work") } == expected.filter { !$0.hasPrefix("work") })
            #expect(calls.filter { $0.hasPrefix("work") } == ["work 1", "work 2", "work 3"])
        }
    }

    @Test("the first error ends the work", arguments: ["read 1", "read 2", "work 1", "store 1", "work 3", "store 3"])
    func errors(place: String) async throws {
        #expect(try Self.calls(.serial(), failing: place).last == "failed")
        try await withPools(widths: [2]) { pool in
            let calls = try await pool.run {
                try Self.calls(ComputeScope(pool: pool, flag: CancellationFlag()), failing: place)
            }
            #expect(calls.last == "failed")
            if place.hasSuffix("1") { #expect(!calls.contains("work 3")) }
        }
    }

    @Test("a portion is worked on while the product before it is stored")
    func overlap() async throws {
        try await withPools(widths: [2]) { pool in
            let (second, first) = (Gate(), Gate())
            let products = Shared<[Int]>([])
            try await pool.run {
                try ComputeScope(pool: pool, flag: CancellationFlag()).forEachPortion { last -> Int? in
                    last == 2 ? nil : (last ?? 0) + 1
                } work: { portion in
                    // Each waits for the other: for ever, if one were done after the other.
                    if portion == 2 {
                        second.open()
                        first.wait()
                    }
                    return portion
                } store: { product in
                    if product == 1 {
                        first.open()
                        second.wait()
                    }
                    products.withLock { $0.append(product) }
                }
            }
            #expect(products.withLock { $0 } == [1, 2])
        }
    }

    @Test("nothing is worked on once the flag is raised")
    func cancellation() throws {
        let flag = CancellationFlag()
        let products = Mutex<[Int]>([])
        #expect(throws: CancelledError.self) {
            try ComputeScope.serial(flag).forEachPortion { last in
                (last ?? 0) + 1
            } work: { (portion: Int) in
                if portion == 3 { flag.cancel() }
                return portion
            } store: { product in
                products.withLock { $0.append(product) }
            }
        }
        #expect(products.withLock { $0 } == [1])
    }
}
