import Foundation
import NocturneJournal
import NocturneReport
import NocturneTestSupport
import Testing

@Suite("Unusual values of a batch")
struct UnusualValuesTests {
    private struct Organ {
        var volume: Double?
        var centre: SIMD3<Double>
        var isCut = false
        var deviation: Double

        func rows(_ name: String) -> [Statistic] {
            let isThere = volume != nil
            func row(_ measure: String, _ value: Double?, _ unit: String = "1") -> Statistic {
                Statistic(label: name, measure: measure, value: value, unit: unit)
            }
            return [
                row("voxelCount", (volume ?? 0) * 1000), row("volume", volume, "ml"),
                row("centroidRasX", isThere ? centre.x : nil, "mm"),
                row("centroidRasY", isThere ? centre.y : nil, "mm"),
                row("centroidRasZ", isThere ? centre.z : nil, "mm"),
                row("touchesBorder", isThere ? (isCut ? 1 : 0) : nil),
                row("intensityMean", isThere ? 110 : nil), row("intensityStandardDeviation", isThere ? deviation : nil),
            ]
        }
    }

    /// Bodies of different size that lie anywhere in the scanner.
    private func cohort(_ count: Int, _ change: (Int, inout [String: Organ]) -> Void) -> [[Statistic]] {
        var random = SplitMix64(seed: 7)
        return (0..<count).map { item in
            let size = exp(0.12 * random.normal())
            let place = SIMD3(random.normal() * 20, random.normal() * 20, random.normal() * 150)
            func organ(_ volume: Double, _ centre: SIMD3<Double>) -> Organ {
                let jitter = SIMD3(random.normal() * 4, random.normal() * 4, random.normal() * 8)
                return Organ(
                    volume: volume * size * exp(0.1 * random.normal()),
                    centre: place + centre + jitter,
                    deviation: 20 * exp(0.08 * random.normal())
                )
            }
            var organs = [
                "kidney_left": organ(160, SIMD3(-60, 20, 0)), "kidney_right": organ(155, SIMD3(60, 20, -15)),
                "bladder": organ(200, SIMD3(0, -30, -220)),
            ]
            change(item, &organs)
            return BatchMeasure.Derived.with(organs.keys.sorted().flatMap { organs[$0]?.rows($0) ?? [] })
        }
    }

    @Test("Five planted faults in two hundred items are among the first seven items")
    func planted() throws {
        let statistics = cohort(200) { item, organs in
            switch item {
            case 13: organs["kidney_right"]?.volume = nil
            case 57: organs["kidney_left"]?.volume? *= 2.2
            case 101: organs["bladder"]?.centre.z += 180
            case 144: organs["kidney_left"]?.isCut = true
            case 190: organs["kidney_right"]?.deviation *= 2.5
            default: break
            }
        }
        let unusual = try UnusualValues(models: Array(repeating: "m", count: 200), statistics: statistics)
        var items: [Int] = []
        for value in unusual.values where !items.contains(value.item) { items.append(value.item) }
        #expect(Set(items.prefix(7)).isSuperset(of: [13, 57, 101, 144, 190]), "\(items)")
        #expect(unusual.values.allSatisfy { $0.score > 3.5 && !$0.text.isEmpty })
        let missing = unusual.values.first { $0.item == 13 && $0.value == nil }
        #expect(missing?.text == "missing; found in 199 of 200 items of this batch")
        #expect(
            unusual.values.contains { $0.item == 57 && $0.measure == "leftRightRatio" && $0.label == "kidney_left" }
        )
    }

    @Test("Median and spread are those of the definition, for volumes on a logarithmic scale")
    func definition() throws {
        // Logarithms 0...8 with one far away: median 4, deviations 4 3 2 1 0 1 2 3 and 96, whose median is 2.
        let logs: [Double] = [0, 1, 2, 3, 4, 5, 6, 7, 100]
        let statistics = logs.map { [Statistic(label: "x", measure: "volume", value: exp($0), unit: "ml")] }
        let unusual = try UnusualValues(models: Array(repeating: "", count: 9), statistics: statistics)
        let distribution = try #require(unusual.distributions.first)
        #expect(abs(distribution.median - exp(4)) < 1e-9 && abs(distribution.spread - 2 * 1.4826) < 1e-12)
        #expect(distribution.count == 9)
        #expect(unusual.values.map(\.item) == [8])
        let first = try #require(unusual.values.first)
        #expect(abs(first.score - 96 / (2 * 1.4826)) < 1e-9)
    }

    @Test("Thousands of values of several labels, of which most are not in memory, are compared as few are")
    func long() throws {
        let labels = ["x", "y", "z"]
        func volume(_ item: Int, _ label: Int) -> Double { exp(Double((item * 7 + label) % 2001 - 1000) / 1000) }
        let statistics = (0..<2001).map { item in
            labels.indices.map { label in
                let value = item == 700 && label == 1 ? 1e9 : volume(item, label)
                return Statistic(label: labels[label], measure: "volume", value: value, unit: "ml")
            }
        }
        let unusual = try UnusualValues(models: Array(repeating: "", count: 2001), statistics: statistics)
        #expect(unusual.distributions.map(\.count) == [2001, 2001, 2001])
        // Each residue occurs once: logarithms from -1 to 1 in equal steps.
        let ends = [unusual.distributions[0], unusual.distributions[2]]
        #expect(ends.allSatisfy { abs($0.median - 1) < 1e-9 && abs($0.spread - 0.5 * 1.4826) < 1e-9 })
        #expect(unusual.values.map(\.item) == [700] && unusual.values.map(\.label) == ["y"])
    }

    @Test("The fewer items touch the border, the more unusual that is; a tenth of them is usual")
    func rarity() throws {
        func scores(_ count: Int) throws -> [Double] {
            let statistics = (0..<40).map {
                [Statistic(label: "x", measure: "touchesBorder", value: $0 < count ? 1 : 0, unit: "1")]
            }
            return try UnusualValues(models: Array(repeating: "", count: 40), statistics: statistics).values.map(
                \.score
            )
        }
        #expect(try scores(1) == [8.375] && scores(2) == [6.75, 6.75] && scores(4) == [3.5, 3.5, 3.5, 3.5])
        #expect(try scores(5).isEmpty && scores(40).isEmpty)
    }

    @Test("Few items, equal items, other models and values without a place on the scale are never unusual")
    func nothingUnusual() throws {
        func volumes(_ values: [Double?]) -> [[Statistic]] {
            values.map { [Statistic(label: "x", measure: "volume", value: $0, unit: "ml")] }
        }
        let few = volumes([1, 1, 1, 1, 1, 1, 900])
        #expect(try UnusualValues(models: Array(repeating: "", count: 7), statistics: few).values.isEmpty)
        let equal = volumes(Array(repeating: 5, count: 20))
        #expect(try UnusualValues(models: Array(repeating: "", count: 20), statistics: equal).values.isEmpty)
        let odd = volumes(Array(repeating: 5, count: 20) + [nil, 0, -.infinity, .nan])
        #expect(try UnusualValues(models: Array(repeating: "", count: 24), statistics: odd).values.isEmpty)
        // Large organs of one model are not unusual because another model has small ones.
        let models = Array(repeating: "a", count: 10) + Array(repeating: "b", count: 3)
        let two = volumes(Array(repeating: 5, count: 10) + [500, 500, 500])
        #expect(try UnusualValues(models: models, statistics: two).values.isEmpty)
    }

    @Test("Values in another unit are compared among themselves")
    func units() throws {
        func rows(_ value: Double, _ unit: String) -> [Statistic] {
            [Statistic(label: "x", measure: "intensityMean", value: value, unit: unit)]
        }
        let uptake = (0..<10).map { rows(4 + 0.1 * Double($0), "SUVbw") }
        let stored = (0..<10).map { rows(9000 + 100 * Double($0), "image value") } + [rows(90_000, "image value")]
        let unusual = try UnusualValues(models: Array(repeating: "", count: 21), statistics: uptake + stored)
        #expect(unusual.distributions.map(\.unit) == ["SUVbw", "image value"])
        #expect(unusual.distributions.map(\.count) == [10, 11])
        #expect(unusual.values.map(\.item) == [20])
        // Fractions, of which 1 is far away, and Hounsfield units, of which it is not.
        let fractions = (0..<10).map { rows(0.62 + 0.001 * Double($0), "image value") } + [rows(0.95, "image value")]
        let tissue = (0..<10).map { rows(0.62 + 0.001 * Double($0), "HU") } + [rows(0.95, "HU")]
        let small = try UnusualValues(models: Array(repeating: "", count: 22), statistics: fractions + tissue)
        #expect(small.values.map(\.item) == [10])
    }

    @Test("The order of the items changes only their numbers")
    func order() throws {
        let statistics = cohort(60) { item, organs in if item == 5 { organs["bladder"]?.volume? *= 6 } }
        let forward = try UnusualValues(models: Array(repeating: "", count: 60), statistics: statistics)
        let backward = try UnusualValues(models: Array(repeating: "", count: 60), statistics: statistics.reversed())
        #expect(forward.distributions == backward.distributions)
        let back = backward.values.map { "\(59 - $0.item) \($0.label) \($0.measure) \($0.score)" }
        #expect(Set(forward.values.map { "\($0.item) \($0.label) \($0.measure) \($0.score)" }) == Set(back))
        #expect(forward.values.contains { $0.item == 5 && $0.label == "bladder" })
    }
}

extension UnusualValues {
    /// Of items with these models and statistics.
    init(models: [String], statistics: [[Statistic]], ranges: [ReferenceRange] = []) throws {
        var collector = Collector(ranges: ranges)
        for (model, rows) in zip(models, statistics) { try collector.add(model: model, rows) }
        self = try collector.values()
    }
}

extension SplitMix64 {
    fileprivate mutating func normal() -> Double {
        let (radius, angle) = (Double.random(in: 0..<1, using: &self), Double.random(in: 0..<1, using: &self))
        return (-2 * log(1 - radius)).squareRoot() * cos(2 * .pi * angle)
    }
}
