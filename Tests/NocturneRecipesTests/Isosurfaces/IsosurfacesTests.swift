import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("Isosurfaces as items")
struct IsosurfacesTests {
    @Test("A ball has its surfaces at each value, with the sizes of balls, in files, result, statistics and preview")
    func ball() async throws {
        let bench = try IsosurfaceBench()
        try bench.addBall()
        let outcome = try await bench.run(IsosurfaceOptions(given: ["isosurface": "400,350.5"]))
        #expect(outcome.counts.completed == 1 && outcome.counts.inputs == 1)
        #expect(try bench.faults("ball") == [])
        let surfaces = try bench.surfaces("ball")
        #expect(surfaces.map { $0["name"] as? String } == ["350.5", "400"])
        let folder = bench.batch.output.item("ball")
        for (surface, radius) in zip(surfaces, [14.95, 10]) {
            #expect(surface["closed"] as? Bool == true && surface["status"] as? String == "complete")
            let area = try #require(surface["areaMm2"] as? Double)
            let volume = try #require(surface["volumeMl"] as? Double)
            #expect(isClose(area, 4 * Double.pi * radius * radius, relative: 0.01))
            #expect(isClose(volume, 4 * Double.pi / 3 * radius * radius * radius / 1000, relative: 0.01))
            let bounds = try #require(surface["boundsRasMm"] as? [String: [Double]])
            let middle: [Double] = [40 - 39.0 / 2, -100 + 0.8 * 47 / 2, 600 + 1.5 * 29 / 2]
            #expect(allClose(bounds["lower"] ?? [], middle.map { $0 - radius }, absolute: 0.1))
            #expect(allClose(bounds["upper"] ?? [], middle.map { $0 + radius }, absolute: 0.1))
            let mesh = try #require(surface["mesh"] as? [String: Any])
            let name = try #require(surface["name"] as? String)
            #expect(mesh["file"] as? String == "meshes/\(name).stl" && mesh["frame"] as? String == "LPS")
            let read = try STLFormat().read("", at: folder + "/meshes/\(name).stl", flag: CancellationFlag())
            #expect(read.frame == .lps && read.mesh.triangles.count == surface["triangles"] as? Int)
            let centre = SIMD3<Double>(middle[0], middle[1], middle[2])
            #expect(read.mesh.vertices.allSatisfy { abs(length(SIMD3<Double>($0) - centre) - radius) < 0.05 })
        }
        #expect(FileSystem.exists(folder + "/preview.png"))
        #expect(try bench.result("ball")["unit"] is NSNull)
        let text = try String(contentsOfFile: folder + "/result.json", encoding: .utf8)
        #expect(!text.contains(bench.batch.folder.path))
        let table = try String(contentsOfFile: bench.batch.output.statistics, encoding: .utf8)
        #expect(table.contains("isosurface:350.5,area,") && table.contains("isosurface:400,volume,"))
    }

    @Test("verify finds nothing, and finds a mesh that was changed or exchanged")
    func verification() async throws {
        let bench = try IsosurfaceBench()
        try bench.addBall()
        try await bench.run(IsosurfaceOptions(given: ["isosurface": "400,450"]))
        let batch = VerifiedBatch(output: bench.batch.output, by: bench.batch)
        #expect(try await batch.faults() == [])
        let whole = try FileSystem.read(batch.url("ball/meshes/400.stl").path)
        try batch.change("ball/meshes/400.stl") { $0[2000] ^= 1 }
        #expect(try await batch.faults().contains { $0.hasPrefix("ball/meshes/400.stl") })
        // Recorded as it is now, but not closed.
        try FileSystem.write(batch.url("ball/meshes/400.stl").path, whole)
        try batch.change("ball/meshes/400.stl") { bytes in
            bytes.removeLast(50)
            let count = UInt32(bytes.count - 84) / 50
            withUnsafeBytes(of: count.littleEndian) { bytes.replaceSubrange(80..<84, with: $0) }
        }
        try await batch.recordAnew("ball")
        let faults = try await batch.faults()
        #expect(faults.contains("ball/meshes/400.stl: is not closed"), "\(faults)")
        #expect(faults.contains { $0.contains("triangles, result.json states") }, "\(faults)")
        // The surface of another value.
        try FileSystem.write(
            batch.url("ball/meshes/400.stl").path,
            try FileSystem.read(batch.url("ball/meshes/450.stl").path)
        )
        try await batch.recordAnew("ball")
        #expect(try await batch.faults().contains { $0.hasPrefix("ball/meshes/400.stl: has an area of ") })
    }

    @Test("Voxels with exactly the value, in whole numbers as in CT, give files that verify accepts")
    func wholeNumbers() async throws {
        let bench = try IsosurfaceBench()
        try bench.add("steps.nii") { Float((30 - length($0)).rounded()) }
        try await bench.run(IsosurfaceOptions(given: ["isosurface": "20,25", "meshes": "obj", "frame": "ras"]))
        #expect(try await VerifiedBatch(output: bench.batch.output, by: bench.batch).faults() == [])
        let surface = try #require(try bench.surfaces("steps").first)
        #expect((surface["mesh"] as? [String: Any])?["file"] as? String == "meshes/20.obj")
        #expect(surface["closed"] as? Bool == true)
    }

    @Test("Values that no voxel has and surfaces that are cut are said so; meshes and preview can be left out")
    func notes() async throws {
        let bench = try IsosurfaceBench()
        try bench.add("x.nii") { point in point.x < -18 ? .nan : Float(point.x) }
        try await bench.run(IsosurfaceOptions(given: ["isosurface": "-5,0,1000", "meshes": "none", "preview": "none"]))
        #expect(try bench.faults("x") == [])
        let surfaces = try bench.surfaces("x")
        #expect(surfaces.map { $0["status"] as? String } == ["touchesBorder", "touchesBorder", "absent"])
        #expect(surfaces.map { $0["triangles"] as? Int == 0 } == [false, false, true])
        #expect(surfaces[2]["areaMm2"] is NSNull && surfaces[2]["closed"] is NSNull && surfaces[0]["mesh"] is NSNull)
        let notes = try bench.result("x")["notes"] as? [String] ?? []
        #expect(notes.contains { $0.contains("NaN, infinite or outside the range of float32") })
        #expect(notes.contains("no voxel has the value or more: 1000"))
        #expect(notes.contains { $0.hasPrefix("closed at the border") && $0.hasSuffix(": -5, 0") })
        let folder = bench.batch.output.item("x")
        #expect(!FileSystem.exists(folder + "/meshes") && !FileSystem.exists(folder + "/preview.png"))
        #expect(try await VerifiedBatch(output: bench.batch.output, by: bench.batch).faults() == [])
    }

    @Test("A CT in DICOM has values in HU; a scene has one node for each value")
    func series() async throws {
        let labels = try LabelBench()
        let bench = IsosurfaceBench(batch: labels.batch)
        try await bench.run(IsosurfaceOptions(given: ["isosurface": "0.5,1", "meshes": "glb"]))
        #expect(try bench.faults("ct") == [])
        #expect(try bench.result("ct")["unit"] as? String == "HU")
        let surfaces = try bench.surfaces("ct")
        let meshes = surfaces.compactMap { $0["mesh"] as? [String: Any] }
        #expect(meshes.map { $0["node"] as? String } == ["0.5", "1"])
        #expect(Set(meshes.map { $0["file"] as? String }).count == 1)
        // 8³ voxels, half-way to their neighbours and beveled; and only their centres.
        let volumes = surfaces.compactMap { $0["volumeMm3"] as? Double }
        #expect((480...512).contains(volumes[0]) && (343...345).contains(volumes[1]))
        #expect(try await VerifiedBatch(output: bench.batch.output, by: bench.batch).faults() == [])
        let text = try String(contentsOfFile: bench.batch.output.item("ct") + "/result.json", encoding: .utf8)
        #expect(!text.contains("Nobody"))
    }

    @Test("The same bytes come from one thread and three; what is done stays done, other values are made again")
    func resume() async throws {
        let bench = try IsosurfaceBench()
        try bench.addBall("a.nii")
        try bench.add("b.nii") { Float($0.x * $0.y) }
        let options = try IsosurfaceOptions(given: ["isosurface": "30,420"])
        try await bench.run(options, threads: 1)
        let tree = try bench.batch.tree()
        let other = OutputFolder(bench.batch.folder("other").path)
        try await bench.run(options, output: other, threads: 3)
        #expect(try bench.batch.tree(other) == tree)
        #expect(try await bench.run(options).counts.completed == 2)
        #expect(try bench.batch.tree() == tree)
        let recipe = Isosurfaces(options: options)
        let first = try #require(try bench.discovered(options).items.first).fingerprint.hex
        let folder = bench.batch.output.item("a")
        #expect(try recipe.recognize(folder: folder, fingerprint: first)?.files.count == 4)
        #expect(try recipe.recognize(folder: folder, fingerprint: String(first.reversed())) == nil)
        let others = [
            ["isosurface": "30,421"], ["isosurface": "30,420", "meshes": "obj"],
            ["isosurface": "30,420", "preview": "slices"],
        ]
        for given in others {
            let options = try IsosurfaceOptions(given: given)
            #expect(try #require(try bench.discovered(options).items.first).fingerprint.hex != first)
        }
        try FileSystem.write(folder + "/meshes/420.stl", [1, 2, 3])
        #expect(try recipe.recognize(folder: folder, fingerprint: first) == nil)
    }

    @Test("A surface of noise fails with the number of triangles and what can be done; the other items continue")
    func noise() async throws {
        let bench = try IsosurfaceBench()
        var dice = SplitMix64(seed: 4)
        try bench.add("noise.nii", shape: VolumeShape(x: 110, y: 110, z: 110)) { _ in Float(dice.unit()) }
        try bench.addBall()
        let outcome = try await bench.run(IsosurfaceOptions(given: ["isosurface": "0.5", "preview": "none"]))
        #expect(outcome.counts.completed == 1 && outcome.counts.failed == 1)
        let items = try await Journal.with(path: bench.batch.output.journal) { try await $0.items() }
        let reason = try #require(items.first { $0.name == "noise" }?.reason)
        #expect(reason.code.rawValue == "volume.tooManyTriangles")
        #expect(reason.text.contains("noise.nii") && reason.text.contains("the surface at 0.5 would have "))
        #expect(reason.text.contains("1048576") && reason.text.contains("use a higher value or a reduced volume"))
        #expect(reason.code.remedy.contains("--isosurface"))
    }

    @Test("Beside a model, each volume is an item of both; what is no volume is set aside once")
    func beside() throws {
        let bench = try IsosurfaceBench()
        try bench.addBall()
        try bench.batch.folder.write("text", to: "in/notes.txt")
        let request = DiscoveryRequest(inputs: [bench.batch.input])
        let own = try Isosurfaces(options: IsosurfaceOptions(given: ["isosurface": "1"]))
        let volumes = try bench.batch.recipe()
        func names(_ recipes: [any Recipe]) throws -> [String] {
            try search(recipes, request).items.map { $0.problem == nil ? $0.name : "aside" }.sorted()
        }
        #expect(try names([own]) == ["aside", "ball"])
        #expect(try names([try ExistingLabels(), own]) == ["aside", "ball"])
        #expect(try names([volumes, own]) == ["aside", "ball", "ball@threshold"])
    }
}
