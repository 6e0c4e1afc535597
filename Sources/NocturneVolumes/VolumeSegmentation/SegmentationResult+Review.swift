import NocturneJournal
import NocturnePictures
import NocturneRecipeSupport

extension SegmentationResult {
    /// Alternative texts of the pictures of a volume.
    static var pictureTitles: KeyValuePairs<String, String> {
        [
            "preview.png":
                "Three slices with the labels, projections of the volume, and the labels' surfaces",
            SliceWriter.file(nil): "All slices with the outlines of the labels, one after another",
            SliceWriter.file(.axial): "All axial slices with the outlines of the labels, one after another",
            SliceWriter.file(.coronal): "All coronal slices with the outlines of the labels, one after another",
            SliceWriter.file(.sagittal): "All sagittal slices with the outlines of the labels, one after another",
            RegionPicture.file: "The measured regions of interest with their figures, each in the plane that shows it",
            RenderingWriter.stillFile:
                "The volume as if one looked into it, from the front and from the patient's left side",
            RenderingWriter.turnFile: "The volume as if one looked into it, turning round the patient's long axis",
        ]
    }
}

extension SegmentationResult {
    /// What the page shows of a result. It is read of every item of a batch, so nothing else of the file is decoded.
    struct Shown: Decodable {
        struct Label: Decodable {
            let value: Int
            let name: String
            let color: String
            let mesh: Mesh?
        }

        struct Edit: Decodable {}

        let options: [String: String]
        let edited: Edit?
        let labels: [Label]
        let files: [ItemFile]
    }
}

extension SegmentationResult.Mesh {
    /// The file, if it holds this surface alone and the page can show it.
    var reviewFile: String? { node == nil && file.hasSuffix(".stl") ? file : nil }
}
