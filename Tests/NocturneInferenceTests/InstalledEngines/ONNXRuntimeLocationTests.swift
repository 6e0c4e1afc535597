import Foundation
import NocturneInference
import NocturneSystem
import NocturneTestSupport
import Testing

/// Files that are not libraries show which one was taken: the refusal names it.
@Suite("The location of ONNX Runtime")
struct ONNXRuntimeLocationTests {
    private func taken(_ environment: [String: String]) -> String? {
        do {
            return try ONNXRuntimeEngine(environment: environment).libraryPath
        } catch {
            guard error.code == .unusableLibrary else { return nil }
            let parts = error.description.components(separatedBy: ": ONNX Runtime cannot be used: ")
            #expect(parts.count == 2 && parts.last?.isEmpty == false)
            return parts.first
        }
    }

    @Test("a place that is named is the only one, and its absence is said")
    func named() throws {
        try TemporaryFolder.with { folder in
            let file = try folder.write("no library", to: "some/where/libonnxruntime.so.1")
            #expect(taken(["NOCTURNE_ONNXRUNTIME": file.path]) == file.path)
            #expect(taken(["NOCTURNE_ONNXRUNTIME": folder("some/where").path]) == file.path)
            try folder.write("no library", to: "data/nocturne/onnxruntime/libonnxruntime.so.2")
            for missing in ["nowhere", "some"] {
                let environment = ["NOCTURNE_ONNXRUNTIME": folder(missing).path, "XDG_DATA_HOME": folder("data").path]
                let error = #expect(throws: EngineError.self) { try ONNXRuntimeEngine(environment: environment) }
                #expect(error?.description.contains(folder(missing).path) == true)
                #expect(error?.description.contains("NOCTURNE_ONNXRUNTIME") == true)
            }
        }
    }

    @Test("the data folder comes before packages of python, and those before the system; the newest version first")
    func order() throws {
        try TemporaryFolder.with { folder in
            var environment = [
                "HOME": folder("home").path, "PATH": "\(folder("empty").path):\(folder("venv/bin").path)",
                "LD_LIBRARY_PATH": folder("system").path,
            ]
            let system = try folder.write("", to: "system/libonnxruntime.so.1.24.0")
            #expect(taken(environment) == system.path)
            let program = try folder.write("", to: "venv/bin/python3")
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program.path)
            let wheel = try folder.write(
                "",
                to: "venv/lib/python3.11/site-packages/onnxruntime/capi/libonnxruntime.so.1.25.0"
            )
            #expect(taken(environment) == wheel.path)
            let own = try folder.write("", to: "home/.local/share/nocturne/onnxruntime/libonnxruntime.so.1.9.0")
            #expect(taken(environment) == own.path)
            let newer = try folder.write("", to: "home/.local/share/nocturne/onnxruntime/libonnxruntime.so.1.31.1")
            #expect(taken(environment) == newer.path)
            environment["XDG_DATA_HOME"] = folder("data").path
            #expect(taken(environment) == wheel.path)
        }
    }

    @Test("when there is none, all places are named, and how to get it")
    func nothing() throws {
        try TemporaryFolder.with { folder in
            let environment = ["HOME": folder.path, "PATH": ""]
            do {
                _ = try ONNXRuntimeEngine(environment: environment)
                print("notice: the system has ONNX Runtime, so that its absence cannot be tested")
            } catch {
                let text = "\(error)"
                for word in [
                    "NOCTURNE_ONNXRUNTIME", folder.path + "/.local/share/nocturne/onnxruntime", "python3", "system",
                ] {
                    #expect(text.contains(word))
                }
                #expect(text.contains("Tools/install-onnxruntime") && text.contains("extra `onnxruntime`"))
            }
        }
    }

    @Test("a library that is another one is refused with the function it lacks")
    func otherLibrary() throws {
        let folders = ["/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64"]
        let candidates = folders.map { $0 + "/libm.so.6" }
        guard let library = candidates.first(where: FileManager.default.fileExists(atPath:)) else {
            print("notice: no libm.so.6 in \(folders), the test is skipped")
            return
        }
        let error = #expect(throws: EngineError.self) {
            try ONNXRuntimeEngine(environment: ["NOCTURNE_ONNXRUNTIME": library])
        }
        #expect(error?.description.contains("OrtGetApiBase") == true)
    }
}
