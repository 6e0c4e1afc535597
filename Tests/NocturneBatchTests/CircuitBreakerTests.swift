import NocturneBatch
import NocturneJournal
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The latest items show that a batch is wrong")
struct CircuitBreakerTests {
    private let damaged = FaultCode("nifti", "damaged")
    private func mapped(_ isEmpty: Bool) -> CircuitBreaker.End { .completed(isEmpty: isEmpty, isOutside: false) }

    /// The number of items at which the run stops, and why; nil if it goes on to the end.
    private func trip(_ ends: [CircuitBreaker.End], _ rules: String? = nil) throws -> (count: Int, text: String)? {
        var breaker = CircuitBreaker(try rules.map { try #require(StopRules($0)) } ?? StopRules())
        for (index, end) in ends.enumerated() {
            if let trip = breaker.ended("\(index)", model: "organs", end) { return (index + 1, trip.text) }
        }
        return nil
    }

    @Test("20 failures of one code in a row, and 20 empty maps, after which none is started")
    func limits() throws {
        let failing = try #require(try trip(Array(repeating: .failed(damaged), count: 1000)))
        #expect(failing.count == 20 && failing.text == "20 items in a row failed with nifti.damaged")
        let empty = try #require(try trip(Array(repeating: mapped(true), count: 1000)))
        #expect(empty.count == 20 && empty.text == "20 label maps of organs in a row are empty")
        // A folder of the wrong kind after two thirds of a good cohort.
        let good = Array(repeating: mapped(false), count: 200)
        #expect(try trip(good + Array(repeating: .failed(damaged), count: 100))?.count == 220)
        #expect(try trip(good + Array(repeating: mapped(true), count: 100))?.count == 220)
    }

    @Test("Few items end after those that stop the run: so many are active at first, and after empty maps or failures")
    func active() {
        var breaker = CircuitBreaker(StopRules())
        #expect(breaker.mostActive == 25)
        for number in 0..<20 { _ = breaker.ended("\(number)", model: "organs", mapped(true)) }
        #expect(breaker.mostActive == 5)
        _ = breaker.ended("good", model: "organs", mapped(false))
        #expect(breaker.mostActive == 30)
        _ = breaker.ended("empty", model: "organs", mapped(true))
        #expect(breaker.mostActive == 30, "of the maps before, too few have labels for a rule to apply")
        var other = CircuitBreaker(StopRules())
        _ = other.ended("good", model: "organs", mapped(false))
        #expect(other.mostActive == 30)
        for number in 0..<3 { _ = other.ended("\(number)", model: "organs", .failed(damaged)) }
        #expect(other.mostActive == 27)
        #expect(StopRules("never").map { CircuitBreaker($0).mostActive } == .some(nil))
    }

    @Test("A good cohort with some bad files goes on, in any order")
    func goodCohort() throws {
        var random = SplitMix64(seed: 1)
        for _ in 0..<20 {
            let ends = Array(repeating: mapped(false), count: 94) + Array(repeating: .failed(damaged), count: 6)
            #expect(try trip(ends.shuffled(using: &random)) == nil)
        }
        // Failures of different reasons, and what completes between them.
        let other = CircuitBreaker.End.failed(FaultCode("dicom", "missingSlices"))
        #expect(try trip((0..<400).map { $0 % 2 == 0 ? .failed(damaged) : other }) == nil)
        #expect(try trip((0..<400).map { $0 % 20 == 19 ? mapped(false) : .failed(damaged) }) == nil)
    }

    @Test("Empty maps are no sign where they are usual, and results without labels count for nothing")
    func rareLesions() throws {
        // One in ten has a lesion at first, then none for long.
        let rare = (0..<100).map { mapped($0 % 10 != 0) } + Array(repeating: mapped(true), count: 200)
        #expect(try trip(rare) == nil)
        #expect(try trip(Array(repeating: .completed(isEmpty: nil, isOutside: false), count: 200)) == nil)
    }

    @Test("Shares are of the latest items, and only of a full number of them")
    func shares() throws {
        let ends = (0..<100).map { $0 < 90 || $0 % 2 == 0 ? mapped(false) : CircuitBreaker.End.failed(damaged) }
        let tripped = try #require(try trip(ends, "failed=20%/10"))
        #expect(tripped.count == 94 && tripped.text == "2 of the last 10 items failed")
        #expect(try trip([.failed(damaged), .failed(damaged)], "failed=20%/10") == nil)
        let outside = try trip(Array(repeating: .completed(isEmpty: false, isOutside: true), count: 9), "outside=50%/8")
        #expect(outside?.count == 8)
        let first = try #require(try trip([mapped(false), .failed(damaged)], "failed=1"))
        #expect(first.count == 2 && first.text == "an item failed")
        let third = try #require(try trip(Array(repeating: .failed(damaged), count: 9), "failed=3"))
        #expect(third.count == 3 && third.text == "3 items in a row failed")
        #expect(try trip(Array(repeating: .failed(damaged), count: 100), "never") == nil)
        #expect(try trip(Array(repeating: .failed(damaged), count: 100), "empty=3") == nil)
    }

    @Test("Names are kept of no more items than the rules look at", arguments: ["never", "same=3,empty=3"])
    func memory(rules: String) throws {
        var breaker = CircuitBreaker(try #require(StopRules(rules)))
        let isEmpty = (0..<1000).map { !$0.isMultiple(of: 10) }
        for (index, isEmpty) in isEmpty.enumerated() { _ = breaker.ended("\(index)", model: "rare", mapped(isEmpty)) }
        for index in 0..<1000 { _ = breaker.ended("\(index)", model: "rare", .failed(damaged)) }
        #expect(breaker.keptNames <= (rules == "never" ? 0 : 6))
    }

    @Test("Rules are parsed, and other texts refused")
    func parsing() {
        #expect(StopRules("same=20,empty=20") == StopRules())
        #expect(StopRules("failed=3") == StopRules("failed=100%/3"))
        for text in [
            "", "same", "same=0", "failed=0", "same=x", "failed=20/50", "failed=0%/5", "failed=101%/5", "same=3,",
        ] {
            #expect(StopRules(text) == nil, "\(text)")
        }
    }

    @Test("The folder that all inputs are below")
    func folder() {
        typealias Trip = CircuitBreaker.Trip
        #expect(Trip.folder(of: ["/in/b/1/x.nii", "/in/b/2/y.nii"]) == "/in/b")
        #expect(Trip.folder(of: ["/in/bad/x.nii", "/in/b/y.nii"]) == "/in")
        #expect(Trip.folder(of: ["/in/x.nii"]) == "/in" && Trip.folder(of: ["/a/x", "/b/y"]) == nil)
        #expect(Trip.folder(of: []) == nil)
    }
}
