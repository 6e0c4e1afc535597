import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturnePostprocess
import NocturneSystem
import NocturneTestSupport
import Testing

/// What SimpleITK, SciPy and NumPy measured: Tools/fixtures/make_roi_fixtures.py.
private struct RegionFixtures: Decodable, Sendable {
    struct Grid: Decodable, Sendable {
        let shape: [Int]
        let affineRas: [[Double]]
        let voxels: Data

        func volume() throws -> Volume {
            let values = voxels.withUnsafeBytes { bytes in
                (0..<bytes.count / 4).map { bytes.loadUnaligned(fromByteOffset: $0 * 4, as: Float.self) }
            }
            return Volume(
                geometry: VolumeGeometry(
                    shape: VolumeShape(x: shape[0], y: shape[1], z: shape[2]),
                    affine: Affine(rows: affineRas)
                ),
                voxels: try FrozenVoxels(values)
            )
        }
    }

    struct Expected: Decodable, Sendable {
        var lengthMm: Double?
        var angleDegrees: Double?
        var areaMm2: Double?
        var volumeMm3: Double?
        var sampleCount: Int?
        var sampledAreaMm2: Double?
        var sampledVolumeMm3: Double?
        var slice: Int?
        var mean: Double?
        var standardDeviation: Double?
        var minimum: Double?
        var maximum: Double?
        var median: Double?
        var histogram: [Int]?
        var lower: Double?
        var upper: Double?
        var outsideHistogram: Int?
    }

    struct Case: Decodable, Sendable {
        let volume: String
        let file: String
        let status: String
        let expected: Expected
    }

    let volumes: [String: Grid]
    let cases: [Case]

    static func load() throws -> RegionFixtures {
        try JSONDecoder().decode(RegionFixtures.self, from: Data(try Fixtures.bytes("Regions/regions.json")))
    }
}

@Suite("Regions of interest against SimpleITK, SciPy and NumPy")
struct RegionFixtureTests {
    private func isClose(_ a: Double?, _ b: Double?) -> Bool {
        guard let a, let b else { return a == nil && b == nil }
        return abs(a - b) <= 1e-6 * max(1, abs(b))
    }

    @Test("Every kind on every grid and in every space comes out the same to 1e-6")
    func fixtures() throws {
        let fixtures = try RegionFixtures.load()
        let volumes = try fixtures.volumes.mapValues { try $0.volume() }
        var kinds: [String: Int] = [:]
        for entry in fixtures.cases {
            let image = try #require(volumes[entry.volume])
            let file = try RegionFile(Array(entry.file.utf8), path: "regions.json")
            let region = try #require(file.entries.first).region
            let found = try RegionMeasurement.measure(region, on: image, scope: .serial())
            let want = entry.expected
            let name: Comment = "\(entry.volume): \(entry.file)"
            if !entry.status.isEmpty { #expect(found.status.rawValue == entry.status, name) }
            #expect(found.problem == nil, name)
            #expect(isClose(found.length, want.lengthMm), name)
            #expect(isClose(found.angle, want.angleDegrees), name)
            #expect(found.area == nil || isClose(found.area, want.areaMm2), name)
            #expect(isClose(found.volume, want.volumeMm3), name)
            #expect(found.sampleCount == want.sampleCount, name)
            #expect(isClose(found.sampledArea, want.sampledAreaMm2), name)
            #expect(isClose(found.sampledVolume, want.sampledVolumeMm3), name)
            #expect(want.slice == nil || found.sliceIndex == want.slice, name)
            #expect(isClose(found.intensity?.mean, want.mean), name)
            #expect(isClose(found.intensity?.standardDeviation, want.standardDeviation), name)
            #expect(isClose(found.intensity?.minimum, want.minimum), name)
            #expect(isClose(found.intensity?.maximum, want.maximum), name)
            #expect(isClose(found.intensity?.median, want.median), name)
            #expect(found.intensity?.histogram.counts == want.histogram, name)
            #expect(isClose(found.intensity?.histogram.lower, want.lower), name)
            #expect(isClose(found.intensity?.histogram.upper, want.upper), name)
            let outside = found.intensity.map { $0.histogram.below + $0.histogram.above }
            #expect(outside == want.outsideHistogram, name)
            if (found.sampleCount ?? 1) > 0 { kinds[found.kind, default: 0] += 1 }
        }
        #expect(kinds.count == 8 && kinds.values.allSatisfy { $0 >= 10 }, "\(kinds)")
    }

    @Test("The result is bit-identical for 1, 2 and 5 threads")
    func widths() async throws {
        let fixtures = try RegionFixtures.load()
        let volumes = try fixtures.volumes.mapValues { try $0.volume() }
        let cases = fixtures.cases
        let found = try await resultsForWidths { scope in
            try cases.map { entry in
                let region = try RegionFile(Array(entry.file.utf8), path: "").entries[0].region
                return try RegionMeasurement.measure(region, on: volumes[entry.volume]!, scope: scope)
            }
        }
        #expect(found[0] == found[1] && found[0] == found[2])
    }
}
