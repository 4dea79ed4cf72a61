
%struct.launch_config = type { [3 x i32], [3 x i32], i64, ptr, ptr, i64 }
%struct.facts = type { [3 x i32], i32, i64, ptr, ptr, ptr, ptr }
%struct.call = type { ptr, ptr, ptr, ptr, ptr, %struct.learnt }
%struct.learnt = type { ptr, i32, i32, i32, i32, ptr, ptr }
%struct.subscript_entry = type { [5 x i64], ptr, ptr, i64 }
%struct.tensor = type { i64, i32, i32, i32, i32, ptr, ptr, i64 }
%struct.dim_row = type { i64, i64, i64, i32, i32 }
%struct.rule = type { i32, i32, i64 }
%struct.array_row = type { i16, i16, i32, ptr }
%struct.constant_row = type { i16, i16, i32 }
%struct.map_entry = type { i64, [5 x i64], [5 x i64], [5 x i64], [16 x i64] }
%struct.type_entry = type { ptr, i64, ptr, ptr }

; Function Attrs: nounwind
define ptr @launch(ptr noundef %0, ptr noundef %1, i64 noundef %2, ptr noundef %3) local_unnamed_addr #0 {
  %5 = alloca %struct.launch_config, align 8
  %6 = alloca %struct.facts, align 8
  %7 = alloca %struct.call, align 8
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %9 = load ptr, ptr %8, align 8
  %10 = getelementptr inbounds nuw i8, ptr %9, i64 64
  %11 = load ptr, ptr %10, align 8
  %12 = getelementptr inbounds nuw i8, ptr %9, i64 72
  %13 = load ptr, ptr %12, align 8
  %14 = getelementptr inbounds nuw i8, ptr %9, i64 80
  %15 = load ptr, ptr %14, align 8
  %16 = getelementptr inbounds nuw i8, ptr %9, i64 44
  %17 = load i32, ptr %16, align 4
  %18 = and i32 %17, 32
  %19 = icmp eq i32 %18, 0
  br i1 %19, label %26, label %20, !prof !4

20:                                               ; preds = %4
  %21 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %22 = load ptr, ptr %1, align 8
  %23 = add nsw i64 %2, -1
  %24 = getelementptr inbounds nuw i8, ptr %22, i64 24
  %25 = load ptr, ptr %24, align 8
  br label %26

26:                                               ; preds = %20, %4
  %27 = phi ptr [ %25, %20 ], [ %9, %4 ]
  %28 = phi i64 [ %23, %20 ], [ %2, %4 ]
  %29 = phi ptr [ %22, %20 ], [ %0, %4 ]
  %30 = phi ptr [ %21, %20 ], [ %1, %4 ]
  %31 = getelementptr inbounds nuw i8, ptr %27, i64 32
  %32 = getelementptr inbounds nuw i8, ptr %15, i64 128
  %33 = load i32, ptr %32, align 8
  %34 = zext i32 %33 to i64
  %35 = alloca i8, i64 %34, align 64
  %36 = getelementptr inbounds nuw i8, ptr %15, i64 112
  %37 = load i32, ptr %36, align 8
  %38 = zext i32 %37 to i64
  %39 = getelementptr inbounds nuw i8, ptr %35, i64 %38
  call void @llvm.lifetime.start.p0(ptr nonnull %7) #16
  store ptr %13, ptr %7, align 8
  %40 = getelementptr inbounds nuw i8, ptr %7, i64 8
  store ptr %11, ptr %40, align 8
  %41 = getelementptr inbounds nuw i8, ptr %7, i64 16
  store ptr %15, ptr %41, align 8
  %42 = getelementptr inbounds nuw i8, ptr %7, i64 24
  store ptr %30, ptr %42, align 8
  %43 = getelementptr inbounds nuw i8, ptr %7, i64 32
  store ptr %35, ptr %43, align 8
  %44 = getelementptr inbounds nuw i8, ptr %7, i64 40
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(40) %44, i8 0, i64 40, i1 false)
  %45 = load ptr, ptr %13, align 8
  %46 = load i64, ptr %45, align 8
  %47 = icmp eq i64 %46, 0
  br i1 %47, label %48, label %510, !prof !4

48:                                               ; preds = %26
  %49 = getelementptr inbounds nuw i8, ptr %27, i64 44
  %50 = load i32, ptr %49, align 4
  %51 = and i32 %50, 13
  %52 = icmp eq i32 %51, 0
  br i1 %52, label %75, label %53, !prof !4

53:                                               ; preds = %48
  %54 = and i32 %50, 4
  %55 = icmp eq i32 %54, 0
  br i1 %55, label %65, label %56

56:                                               ; preds = %53
  %57 = getelementptr inbounds nuw i8, ptr %11, i64 72
  %58 = load ptr, ptr %57, align 8
  %59 = call fastcc ptr @forward(ptr noundef nonnull %13, ptr noundef %58, ptr noundef null, ptr noundef nonnull %29, ptr noundef %30, i64 noundef %28, ptr noundef %3) #17
  %60 = icmp eq ptr %59, null
  br i1 %60, label %61, label %63

61:                                               ; preds = %56
  %62 = call fastcc i32 @failed(ptr noundef nonnull %13) #17
  br label %510

63:                                               ; preds = %56
  %64 = getelementptr inbounds nuw i8, ptr %59, i64 32
  br label %65

65:                                               ; preds = %63, %53
  %66 = phi ptr [ %64, %63 ], [ %31, %53 ]
  %67 = phi ptr [ %59, %63 ], [ null, %53 ]
  %68 = getelementptr inbounds nuw i8, ptr %66, i64 12
  %69 = load i32, ptr %68, align 4
  %70 = and i32 %69, 9
  %71 = icmp eq i32 %70, 0
  br i1 %71, label %75, label %72

72:                                               ; preds = %65
  %73 = lshr i32 %69, 3
  %74 = and i32 %73, 1
  br label %510

75:                                               ; preds = %65, %48
  %76 = phi ptr [ %66, %65 ], [ %31, %48 ]
  %77 = phi ptr [ %67, %65 ], [ null, %48 ]
  %78 = getelementptr inbounds nuw i8, ptr %15, i64 4
  %79 = load i32, ptr %78, align 4
  %80 = zext i32 %79 to i64
  %81 = icmp ne i64 %28, %80
  %82 = icmp ne ptr %3, null
  %83 = or i1 %82, %81
  br i1 %83, label %84, label %87, !prof !5

84:                                               ; preds = %75
  store ptr %39, ptr %42, align 8
  %85 = call fastcc i32 @bind(ptr noundef %11, ptr noundef nonnull %13, ptr noundef %30, i64 noundef %28, ptr noundef %3, ptr noundef %39) #17
  %86 = icmp eq i32 %85, 0
  br i1 %86, label %135, label %510

87:                                               ; preds = %75
  %88 = getelementptr inbounds nuw i8, ptr %15, i64 20
  %89 = load i32, ptr %88, align 4
  %90 = icmp eq i32 %89, 0
  br i1 %90, label %135, label %91, !prof !4

91:                                               ; preds = %87
  store ptr %39, ptr %42, align 8
  %92 = load i32, ptr %15, align 8
  %93 = icmp eq i32 %92, 0
  br i1 %93, label %135, label %94

94:                                               ; preds = %91
  %95 = zext i32 %92 to i64
  %96 = and i64 %95, 3
  %97 = icmp ult i32 %92, 4
  br i1 %97, label %123, label %98

98:                                               ; preds = %94
  %99 = and i64 %95, 4294967292
  br label %100

100:                                              ; preds = %100, %98
  %101 = phi i64 [ 0, %98 ], [ %118, %100 ]
  %102 = phi i64 [ 0, %98 ], [ %119, %100 ]
  %103 = getelementptr inbounds nuw ptr, ptr %30, i64 %101
  %104 = load ptr, ptr %103, align 8
  %105 = getelementptr inbounds nuw ptr, ptr %39, i64 %101
  store ptr %104, ptr %105, align 8
  %106 = or disjoint i64 %101, 1
  %107 = getelementptr inbounds nuw ptr, ptr %30, i64 %106
  %108 = load ptr, ptr %107, align 8
  %109 = getelementptr inbounds nuw ptr, ptr %39, i64 %106
  store ptr %108, ptr %109, align 8
  %110 = or disjoint i64 %101, 2
  %111 = getelementptr inbounds nuw ptr, ptr %30, i64 %110
  %112 = load ptr, ptr %111, align 8
  %113 = getelementptr inbounds nuw ptr, ptr %39, i64 %110
  store ptr %112, ptr %113, align 8
  %114 = or disjoint i64 %101, 3
  %115 = getelementptr inbounds nuw ptr, ptr %30, i64 %114
  %116 = load ptr, ptr %115, align 8
  %117 = getelementptr inbounds nuw ptr, ptr %39, i64 %114
  store ptr %116, ptr %117, align 8
  %118 = add nuw nsw i64 %101, 4
  %119 = add i64 %102, 4
  %120 = icmp eq i64 %119, %99
  br i1 %120, label %121, label %100, !llvm.loop !6

121:                                              ; preds = %100
  %122 = icmp eq i64 %96, 0
  br i1 %122, label %135, label %123

123:                                              ; preds = %121, %94
  %124 = phi i64 [ 0, %94 ], [ %118, %121 ]
  %125 = icmp ne i64 %96, 0
  call void @llvm.assume(i1 %125)
  br label %126

126:                                              ; preds = %126, %123
  %127 = phi i64 [ %124, %123 ], [ %132, %126 ]
  %128 = phi i64 [ 0, %123 ], [ %133, %126 ]
  %129 = getelementptr inbounds nuw ptr, ptr %30, i64 %127
  %130 = load ptr, ptr %129, align 8
  %131 = getelementptr inbounds nuw ptr, ptr %39, i64 %127
  store ptr %130, ptr %131, align 8
  %132 = add nuw nsw i64 %127, 1
  %133 = add i64 %128, 1
  %134 = icmp eq i64 %133, %96
  br i1 %134, label %135, label %126, !llvm.loop !8

135:                                              ; preds = %121, %126, %91, %87, %84
  %136 = getelementptr inbounds nuw i8, ptr %11, i64 24
  %137 = load ptr, ptr %136, align 8
  %138 = getelementptr inbounds nuw i8, ptr %137, i64 32
  %139 = load i64, ptr %137, align 8
  %140 = icmp eq i64 %139, 0
  br i1 %140, label %163, label %141

141:                                              ; preds = %135
  %142 = getelementptr inbounds nuw i8, ptr %13, i64 264
  %143 = getelementptr inbounds nuw i8, ptr %13, i64 184
  br label %145

144:                                              ; preds = %154
  br i1 %157, label %163, label %174, !prof !10

145:                                              ; preds = %141, %154
  %146 = phi ptr [ %138, %141 ], [ %159, %154 ]
  %147 = phi i64 [ 0, %141 ], [ %158, %154 ]
  %148 = load ptr, ptr %142, align 8
  %149 = load ptr, ptr %146, align 8
  %150 = call ptr %148(ptr noundef %149) #18
  %151 = icmp eq ptr %150, null
  br i1 %151, label %154, label %152

152:                                              ; preds = %145
  %153 = load ptr, ptr %143, align 8
  call void %153(ptr noundef nonnull %150) #18
  br label %154

154:                                              ; preds = %152, %145
  %155 = getelementptr inbounds nuw i8, ptr %146, i64 8
  %156 = load ptr, ptr %155, align 8
  %157 = icmp eq ptr %150, %156
  %158 = add nuw i64 %147, 1
  %159 = getelementptr inbounds nuw i8, ptr %146, i64 16
  %160 = load i64, ptr %137, align 8
  %161 = icmp ult i64 %158, %160
  %162 = select i1 %161, i1 %157, i1 false
  br i1 %162, label %145, label %144, !llvm.loop !11

163:                                              ; preds = %135, %144
  %164 = phi ptr [ %159, %144 ], [ %138, %135 ]
  %165 = getelementptr inbounds nuw i8, ptr %13, i64 8
  %166 = load ptr, ptr %165, align 8
  %167 = load i64, ptr %166, align 8
  %168 = getelementptr inbounds nuw i8, ptr %137, i64 16
  %169 = load i64, ptr %168, align 8
  %170 = icmp eq i64 %167, %169
  br i1 %170, label %177, label %171

171:                                              ; preds = %163
  %172 = call fastcc i32 @are_globals_unchanged(ptr noundef nonnull %13, ptr noundef nonnull %137, ptr noundef nonnull %164, i64 noundef %167) #17
  %173 = icmp eq i32 %172, 0
  br i1 %173, label %174, label %177, !prof !12

174:                                              ; preds = %144, %171
  %175 = getelementptr inbounds nuw i8, ptr %13, i64 160
  %176 = load ptr, ptr %175, align 8
  call void %176() #18
  br label %510

177:                                              ; preds = %163, %171
  %178 = getelementptr inbounds nuw i8, ptr %15, i64 48
  %179 = load i32, ptr %178, align 8
  %180 = icmp eq i32 %179, 0
  br i1 %180, label %201, label %181, !prof !4

181:                                              ; preds = %177
  %182 = getelementptr inbounds nuw i8, ptr %15, i64 40
  %183 = load i32, ptr %182, align 8
  %184 = icmp eq i32 %183, 0
  br i1 %184, label %201, label %185

185:                                              ; preds = %181, %185
  %186 = phi i64 [ %197, %185 ], [ 0, %181 ]
  %187 = load ptr, ptr %43, align 8
  %188 = load ptr, ptr %41, align 8
  %189 = getelementptr inbounds nuw i8, ptr %188, i64 116
  %190 = load i32, ptr %189, align 4
  %191 = zext i32 %190 to i64
  %192 = getelementptr inbounds nuw i8, ptr %187, i64 %191
  %193 = shl nuw nsw i64 %186, 1
  %194 = and i64 %193, 4294967294
  %195 = getelementptr inbounds nuw i64, ptr %192, i64 %194
  %196 = getelementptr inbounds nuw i8, ptr %195, i64 8
  store i64 0, ptr %196, align 8
  %197 = add nuw nsw i64 %186, 1
  %198 = load i32, ptr %182, align 8
  %199 = zext i32 %198 to i64
  %200 = icmp samesign ult i64 %197, %199
  br i1 %200, label %185, label %201, !llvm.loop !13

201:                                              ; preds = %185, %181, %177
  %202 = getelementptr inbounds nuw i8, ptr %15, i64 20
  %203 = load i32, ptr %202, align 4
  %204 = icmp eq i32 %203, 0
  %205 = load ptr, ptr %41, align 8
  br i1 %204, label %216, label %206, !prof !4

206:                                              ; preds = %201
  %207 = load ptr, ptr %43, align 8
  %208 = getelementptr inbounds nuw i8, ptr %205, i64 124
  %209 = load i32, ptr %208, align 4
  %210 = zext i32 %209 to i64
  %211 = getelementptr inbounds nuw i8, ptr %207, i64 %210
  %212 = call fastcc i32 @fetch(ptr noundef %11, ptr noundef nonnull %13, ptr noundef %39, ptr noundef %211) #17
  %213 = icmp eq i32 %212, 0
  br i1 %213, label %214, label %487, !prof !14

214:                                              ; preds = %206
  %215 = load ptr, ptr %41, align 8
  br label %216

216:                                              ; preds = %214, %201
  %217 = phi ptr [ %215, %214 ], [ %205, %201 ]
  %218 = load ptr, ptr %7, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %6) #16
  %219 = call fastcc i32 @arrays(ptr noundef nonnull %7) #17
  %220 = icmp eq i32 %219, 0
  br i1 %220, label %221, label %479, !prof !4

221:                                              ; preds = %216
  %222 = getelementptr inbounds nuw i8, ptr %7, i64 52
  %223 = load i32, ptr %222, align 4
  %224 = icmp eq i32 %223, 0
  br i1 %224, label %228, label %225, !prof !4

225:                                              ; preds = %221
  %226 = call fastcc i32 @read_others(ptr noundef nonnull %7, ptr noundef %76) #17
  %227 = icmp eq i32 %226, 0
  br i1 %227, label %228, label %479

228:                                              ; preds = %225, %221
  %229 = getelementptr inbounds nuw i8, ptr %76, i64 12
  %230 = load i32, ptr %229, align 4
  %231 = and i32 %230, 2
  %232 = icmp eq i32 %231, 0
  br i1 %232, label %237, label %233

233:                                              ; preds = %228
  %234 = getelementptr inbounds nuw i8, ptr %76, i64 24
  %235 = load ptr, ptr %234, align 8
  %236 = getelementptr inbounds nuw i8, ptr %7, i64 72
  store ptr %235, ptr %236, align 8
  br label %252

237:                                              ; preds = %228
  %238 = getelementptr inbounds nuw i8, ptr %7, i64 56
  %239 = load i32, ptr %238, align 8
  %240 = icmp eq i32 %239, 0
  br i1 %240, label %241, label %252, !prof !4

241:                                              ; preds = %237
  %242 = load ptr, ptr %44, align 8
  %243 = icmp eq ptr %242, null
  br i1 %243, label %252, label %244, !prof !5

244:                                              ; preds = %241
  %245 = getelementptr inbounds nuw i8, ptr %7, i64 48
  %246 = load i32, ptr %245, align 8
  %247 = getelementptr inbounds nuw i8, ptr %7, i64 72
  %248 = call i32 %242(i32 noundef 2, i32 noundef %246, ptr noundef nonnull %247) #18
  %249 = icmp eq i32 %248, 0
  br i1 %249, label %252, label %250

250:                                              ; preds = %244
  %251 = call fastcc i32 @failed(ptr noundef %218) #17
  br label %479

252:                                              ; preds = %244, %241, %237, %233
  %253 = load ptr, ptr %43, align 8
  %254 = load ptr, ptr %41, align 8
  %255 = getelementptr inbounds nuw i8, ptr %254, i64 96
  %256 = load i32, ptr %255, align 8
  %257 = zext i32 %256 to i64
  %258 = getelementptr inbounds nuw i8, ptr %253, i64 %257
  %259 = getelementptr inbounds nuw i8, ptr %217, i64 56
  %260 = load i32, ptr %259, align 8
  %261 = icmp eq i32 %260, 0
  br i1 %261, label %312, label %262, !prof !4

262:                                              ; preds = %252
  %263 = getelementptr inbounds nuw i8, ptr %217, i64 24
  %264 = load i32, ptr %263, align 8
  %265 = icmp eq i32 %264, 0
  br i1 %265, label %268, label %266

266:                                              ; preds = %262
  %267 = getelementptr inbounds nuw i8, ptr %217, i64 28
  br label %271

268:                                              ; preds = %271, %262
  %269 = call fastcc i32 @constants(ptr noundef nonnull %7) #17
  %270 = icmp eq i32 %269, 0
  br i1 %270, label %298, label %479

271:                                              ; preds = %266, %271
  %272 = phi i64 [ 0, %266 ], [ %294, %271 ]
  %273 = load ptr, ptr %43, align 8
  %274 = load ptr, ptr %41, align 8
  %275 = getelementptr inbounds nuw i8, ptr %274, i64 124
  %276 = load i32, ptr %275, align 4
  %277 = zext i32 %276 to i64
  %278 = getelementptr inbounds nuw i8, ptr %273, i64 %277
  %279 = getelementptr inbounds nuw i8, ptr %278, i64 %272
  %280 = load i8, ptr %279, align 1
  %281 = getelementptr inbounds nuw i8, ptr %274, i64 96
  %282 = load i32, ptr %281, align 8
  %283 = zext i32 %282 to i64
  %284 = getelementptr inbounds nuw i8, ptr %273, i64 %283
  %285 = getelementptr inbounds nuw i8, ptr %274, i64 72
  %286 = load i32, ptr %285, align 8
  %287 = zext i32 %286 to i64
  %288 = getelementptr inbounds nuw i8, ptr %284, i64 %287
  %289 = load i32, ptr %267, align 4
  %290 = trunc nuw i64 %272 to i32
  %291 = add i32 %289, %290
  %292 = zext i32 %291 to i64
  %293 = getelementptr inbounds nuw i8, ptr %288, i64 %292
  store i8 %280, ptr %293, align 1
  %294 = add nuw nsw i64 %272, 1
  %295 = load i32, ptr %263, align 8
  %296 = zext i32 %295 to i64
  %297 = icmp samesign ult i64 %294, %296
  br i1 %297, label %271, label %268, !llvm.loop !15

298:                                              ; preds = %268
  %299 = getelementptr inbounds nuw i8, ptr %217, i64 48
  %300 = load i32, ptr %299, align 8
  %301 = icmp eq i32 %300, 0
  br i1 %301, label %305, label %302

302:                                              ; preds = %298
  %303 = call fastcc i32 @unsure_dims(ptr noundef nonnull %7) #17
  %304 = icmp eq i32 %303, 0
  br i1 %304, label %305, label %479

305:                                              ; preds = %302, %298
  %306 = getelementptr inbounds nuw i8, ptr %7, i64 60
  %307 = load i32, ptr %306, align 4
  %308 = icmp eq i32 %307, 0
  br i1 %308, label %312, label %309

309:                                              ; preds = %305
  %310 = call fastcc i32 @agree(ptr noundef nonnull %7) #17
  %311 = icmp eq i32 %310, 0
  br i1 %311, label %312, label %479

312:                                              ; preds = %309, %305, %252
  %313 = call fastcc i32 @numbers(ptr noundef nonnull %7) #17
  %314 = icmp eq i32 %313, 0
  br i1 %314, label %315, label %479, !prof !4

315:                                              ; preds = %312
  %316 = load i32, ptr %229, align 4
  %317 = and i32 %316, 16
  %318 = icmp eq i32 %317, 0
  br i1 %318, label %324, label %319, !prof !4

319:                                              ; preds = %315
  %320 = call fastcc i32 @grid_of_dims(ptr noundef nonnull %7, ptr noundef nonnull %76, ptr noundef %6) #17
  %321 = icmp eq i32 %320, 0
  br i1 %321, label %324, label %322

322:                                              ; preds = %319
  %323 = call i32 @llvm.smax.i32(i32 %320, i32 0)
  br label %479

324:                                              ; preds = %319, %315
  %325 = phi ptr [ %76, %315 ], [ %6, %319 ]
  %326 = getelementptr inbounds nuw i8, ptr %325, i64 16
  %327 = load i64, ptr %326, align 8
  store i64 %327, ptr %258, align 8
  %328 = getelementptr inbounds nuw i8, ptr %258, i64 8
  store i64 0, ptr %328, align 8
  %329 = getelementptr inbounds nuw i8, ptr %218, i64 56
  %330 = load ptr, ptr %329, align 8
  %331 = call i32 %330(ptr noundef null, ptr noundef nonnull %328) #18
  %332 = icmp eq i32 %331, 0
  br i1 %332, label %334, label %333, !prof !4

333:                                              ; preds = %324
  store i64 0, ptr %328, align 8
  br label %334

334:                                              ; preds = %333, %324
  %335 = load ptr, ptr %40, align 8
  %336 = getelementptr inbounds nuw i8, ptr %335, i64 16
  %337 = load ptr, ptr %336, align 8
  %338 = getelementptr inbounds nuw i8, ptr %337, i64 16
  %339 = load ptr, ptr %338, align 8
  %340 = getelementptr inbounds nuw i8, ptr %217, i64 76
  %341 = load i32, ptr %340, align 4
  %342 = zext i32 %341 to i64
  %343 = getelementptr inbounds nuw i8, ptr %339, i64 %342
  %344 = getelementptr inbounds nuw i8, ptr %217, i64 68
  %345 = load i32, ptr %344, align 4
  %346 = icmp eq i32 %345, 0
  br i1 %346, label %364, label %347

347:                                              ; preds = %334
  %348 = zext i32 %345 to i64
  br label %351

349:                                              ; preds = %351
  %350 = icmp eq i64 %359, 0
  br i1 %350, label %367, label %362, !prof !16

351:                                              ; preds = %347, %351
  %352 = phi i64 [ 0, %347 ], [ %360, %351 ]
  %353 = phi i64 [ 0, %347 ], [ %359, %351 ]
  %354 = getelementptr inbounds nuw i64, ptr %258, i64 %352
  %355 = load i64, ptr %354, align 8
  %356 = getelementptr inbounds nuw i64, ptr %343, i64 %352
  %357 = load i64, ptr %356, align 8
  %358 = xor i64 %357, %355
  %359 = or i64 %358, %353
  %360 = add nuw nsw i64 %352, 1
  %361 = icmp eq i64 %360, %348
  br i1 %361, label %349, label %351, !llvm.loop !17

362:                                              ; preds = %349
  %363 = call fastcc ptr @search(ptr noundef nonnull %217, ptr noundef nonnull %337, ptr noundef nonnull %258) #17
  br label %364

364:                                              ; preds = %334, %362
  %365 = phi ptr [ %363, %362 ], [ %339, %334 ]
  %366 = icmp eq ptr %365, null
  br i1 %366, label %479, label %367, !prof !19

367:                                              ; preds = %349, %364
  %368 = phi ptr [ %365, %364 ], [ %339, %349 ]
  %369 = getelementptr inbounds nuw i8, ptr %337, i64 8
  %370 = load i64, ptr %369, align 8
  %371 = add i64 %370, 1
  store i64 %371, ptr %369, align 8
  %372 = getelementptr inbounds nuw i8, ptr %217, i64 52
  %373 = load i32, ptr %372, align 4
  %374 = icmp eq i32 %373, 0
  br i1 %374, label %378, label %375

375:                                              ; preds = %367
  %376 = call fastcc i32 @make(ptr noundef nonnull %7, ptr noundef nonnull %368) #17
  %377 = icmp eq i32 %376, 0
  br i1 %377, label %378, label %483, !prof !4

378:                                              ; preds = %375, %367
  %379 = call ptr @llvm.stacksave.p0()
  %380 = load ptr, ptr %41, align 8
  %381 = getelementptr inbounds nuw i8, ptr %380, i64 92
  %382 = load i32, ptr %381, align 4
  %383 = zext i32 %382 to i64
  %384 = alloca ptr, i64 %383, align 16
  %385 = load ptr, ptr %43, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %5) #16
  %386 = getelementptr inbounds nuw i8, ptr %380, i64 80
  %387 = load i32, ptr %386, align 8
  %388 = zext i32 %387 to i64
  %389 = getelementptr inbounds nuw i8, ptr %368, i64 %388
  %390 = getelementptr inbounds nuw i8, ptr %368, i64 32
  %391 = load i32, ptr %390, align 8
  %392 = icmp eq i32 %391, 0
  %393 = load i32, ptr %325, align 4
  br i1 %392, label %413, label %394, !prof !4

394:                                              ; preds = %378
  %395 = getelementptr inbounds nuw i8, ptr %368, i64 80
  %396 = load i32, ptr %395, align 4
  %397 = urem i32 %393, %396
  %398 = icmp eq i32 %397, 0
  br i1 %398, label %399, label %481

399:                                              ; preds = %394
  %400 = getelementptr inbounds nuw i8, ptr %325, i64 4
  %401 = load i32, ptr %400, align 4
  %402 = getelementptr inbounds nuw i8, ptr %368, i64 84
  %403 = load i32, ptr %402, align 4
  %404 = urem i32 %401, %403
  %405 = icmp eq i32 %404, 0
  br i1 %405, label %406, label %481

406:                                              ; preds = %399
  %407 = getelementptr inbounds nuw i8, ptr %325, i64 8
  %408 = load i32, ptr %407, align 4
  %409 = getelementptr inbounds nuw i8, ptr %368, i64 88
  %410 = load i32, ptr %409, align 4
  %411 = urem i32 %408, %410
  %412 = icmp eq i32 %411, 0
  br i1 %412, label %413, label %481

413:                                              ; preds = %406, %378
  %414 = getelementptr inbounds nuw i8, ptr %368, i64 36
  %415 = getelementptr inbounds nuw i8, ptr %5, i64 12
  store i32 %393, ptr %5, align 8
  %416 = load i32, ptr %414, align 4
  store i32 %416, ptr %415, align 4
  %417 = getelementptr inbounds nuw i8, ptr %325, i64 4
  %418 = load i32, ptr %417, align 4
  %419 = getelementptr inbounds nuw i8, ptr %5, i64 4
  store i32 %418, ptr %419, align 4
  %420 = getelementptr inbounds nuw i8, ptr %368, i64 40
  %421 = load i32, ptr %420, align 4
  %422 = getelementptr inbounds nuw i8, ptr %5, i64 16
  store i32 %421, ptr %422, align 8
  %423 = getelementptr inbounds nuw i8, ptr %325, i64 8
  %424 = load i32, ptr %423, align 4
  %425 = getelementptr inbounds nuw i8, ptr %5, i64 8
  store i32 %424, ptr %425, align 8
  %426 = getelementptr inbounds nuw i8, ptr %368, i64 44
  %427 = load i32, ptr %426, align 4
  %428 = getelementptr inbounds nuw i8, ptr %5, i64 20
  store i32 %427, ptr %428, align 4
  %429 = getelementptr inbounds nuw i8, ptr %368, i64 48
  %430 = load i64, ptr %429, align 8
  %431 = getelementptr inbounds nuw i8, ptr %5, i64 24
  store i64 %430, ptr %431, align 8
  %432 = getelementptr inbounds nuw i8, ptr %7, i64 72
  %433 = load ptr, ptr %432, align 8
  %434 = getelementptr inbounds nuw i8, ptr %5, i64 32
  store ptr %433, ptr %434, align 8
  %435 = getelementptr inbounds nuw i8, ptr %368, i64 56
  %436 = load ptr, ptr %435, align 8
  %437 = getelementptr inbounds nuw i8, ptr %5, i64 40
  store ptr %436, ptr %437, align 8
  %438 = getelementptr inbounds nuw i8, ptr %368, i64 64
  %439 = load i64, ptr %438, align 8
  %440 = getelementptr inbounds nuw i8, ptr %5, i64 48
  store i64 %439, ptr %440, align 8
  %441 = getelementptr inbounds nuw i8, ptr %368, i64 72
  %442 = load i64, ptr %441, align 8
  %443 = icmp eq i64 %442, 0
  br i1 %443, label %444, label %455

444:                                              ; preds = %455, %413
  %445 = getelementptr inbounds nuw i8, ptr %368, i64 16
  %446 = load i64, ptr %445, align 8
  %447 = getelementptr inbounds nuw i8, ptr %380, i64 96
  %448 = load i32, ptr %447, align 8
  %449 = zext i32 %448 to i64
  %450 = getelementptr inbounds nuw i8, ptr %385, i64 %449
  %451 = getelementptr inbounds nuw i8, ptr %450, i64 8
  %452 = load i64, ptr %451, align 8
  %453 = icmp eq i64 %446, %452
  %454 = load ptr, ptr %7, align 8
  br i1 %453, label %464, label %477, !prof !4

455:                                              ; preds = %413, %455
  %456 = phi i64 [ %462, %455 ], [ 0, %413 ]
  %457 = getelementptr inbounds nuw i32, ptr %389, i64 %456
  %458 = load i32, ptr %457, align 4
  %459 = zext i32 %458 to i64
  %460 = getelementptr inbounds nuw i8, ptr %385, i64 %459
  %461 = getelementptr inbounds nuw ptr, ptr %384, i64 %456
  store ptr %460, ptr %461, align 8
  %462 = add nuw i64 %456, 1
  %463 = icmp eq i64 %462, %442
  br i1 %463, label %444, label %455, !llvm.loop !20

464:                                              ; preds = %444
  %465 = getelementptr inbounds nuw i8, ptr %454, i64 64
  %466 = load ptr, ptr %465, align 8
  %467 = call ptr %466() #18
  %468 = getelementptr inbounds nuw i8, ptr %454, i64 72
  %469 = load ptr, ptr %468, align 8
  %470 = getelementptr inbounds nuw i8, ptr %368, i64 24
  %471 = load ptr, ptr %470, align 8
  %472 = call i32 %469(ptr noundef nonnull %5, ptr noundef %471, ptr noundef nonnull %384, ptr noundef null) #18
  %473 = getelementptr inbounds nuw i8, ptr %454, i64 80
  %474 = load ptr, ptr %473, align 8
  call void %474(ptr noundef %467) #18
  %475 = icmp ne i32 %472, 0
  %476 = zext i1 %475 to i32
  br label %481

477:                                              ; preds = %444
  %478 = call fastcc i32 @submit_there(ptr noundef %454, ptr noundef %5, ptr noundef nonnull %368, ptr noundef %384) #17
  br label %481

479:                                              ; preds = %364, %322, %312, %309, %302, %268, %250, %225, %216
  %480 = phi i32 [ 2, %364 ], [ %323, %322 ], [ 1, %309 ], [ 1, %302 ], [ %269, %268 ], [ %313, %312 ], [ %226, %225 ], [ %219, %216 ], [ %251, %250 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %6) #16
  br i1 %204, label %510, label %487, !prof !4

481:                                              ; preds = %394, %399, %406, %477, %464
  %482 = phi i32 [ %478, %477 ], [ %476, %464 ], [ 1, %406 ], [ 1, %399 ], [ 1, %394 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %5) #16
  call void @llvm.stackrestore.p0(ptr %379)
  br label %483

483:                                              ; preds = %375, %481
  %484 = phi i32 [ %482, %481 ], [ %376, %375 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %6) #16
  %485 = load i64, ptr %369, align 8
  %486 = add i64 %485, -1
  store i64 %486, ptr %369, align 8
  br i1 %204, label %510, label %487, !prof !4

487:                                              ; preds = %206, %483, %479
  %488 = phi i32 [ %484, %483 ], [ %212, %206 ], [ %480, %479 ]
  %489 = load i32, ptr %15, align 8
  %490 = getelementptr inbounds nuw i8, ptr %15, i64 16
  %491 = load i32, ptr %490, align 8
  %492 = icmp ult i32 %489, %491
  br i1 %492, label %493, label %510

493:                                              ; preds = %487
  %494 = getelementptr inbounds nuw i8, ptr %13, i64 184
  %495 = zext i32 %489 to i64
  br label %496

496:                                              ; preds = %493, %505
  %497 = phi i32 [ %491, %493 ], [ %506, %505 ]
  %498 = phi i64 [ %495, %493 ], [ %507, %505 ]
  %499 = getelementptr inbounds nuw ptr, ptr %39, i64 %498
  %500 = load ptr, ptr %499, align 8
  %501 = icmp eq ptr %500, null
  br i1 %501, label %505, label %502

502:                                              ; preds = %496
  %503 = load ptr, ptr %494, align 8
  call void %503(ptr noundef nonnull %500) #18
  %504 = load i32, ptr %490, align 8
  br label %505

505:                                              ; preds = %496, %502
  %506 = phi i32 [ %497, %496 ], [ %504, %502 ]
  %507 = add nuw nsw i64 %498, 1
  %508 = zext i32 %506 to i64
  %509 = icmp samesign ult i64 %507, %508
  br i1 %509, label %496, label %510, !llvm.loop !21

510:                                              ; preds = %505, %487, %26, %72, %84, %174, %61, %483, %479
  %511 = phi ptr [ %77, %483 ], [ null, %61 ], [ %77, %487 ], [ %77, %479 ], [ null, %26 ], [ %67, %72 ], [ %77, %84 ], [ %77, %174 ], [ %77, %505 ]
  %512 = phi i32 [ %484, %483 ], [ %62, %61 ], [ %488, %487 ], [ %480, %479 ], [ 1, %26 ], [ %74, %72 ], [ 1, %84 ], [ 1, %174 ], [ %488, %505 ]
  %513 = getelementptr inbounds nuw i8, ptr %7, i64 64
  %514 = load ptr, ptr %513, align 8
  %515 = icmp eq ptr %514, null
  br i1 %515, label %519, label %516, !prof !4

516:                                              ; preds = %510
  %517 = getelementptr inbounds nuw i8, ptr %13, i64 184
  %518 = load ptr, ptr %517, align 8
  call void %518(ptr noundef nonnull %514) #18
  br label %519

519:                                              ; preds = %516, %510
  %520 = icmp eq ptr %511, null
  br i1 %520, label %524, label %521, !prof !4

521:                                              ; preds = %519
  %522 = getelementptr inbounds nuw i8, ptr %13, i64 184
  %523 = load ptr, ptr %522, align 8
  call void %523(ptr noundef nonnull %511) #18
  br label %524

524:                                              ; preds = %521, %519
  switch i32 %512, label %544 [
    i32 0, label %525
    i32 3, label %547
    i32 2, label %537
  ], !prof !22

525:                                              ; preds = %524
  %526 = getelementptr inbounds nuw i8, ptr %13, i64 96
  %527 = load i64, ptr %526, align 8
  %528 = icmp eq i64 %527, 0
  br i1 %528, label %534, label %529, !prof !4

529:                                              ; preds = %525
  %530 = getelementptr inbounds nuw i8, ptr %13, i64 176
  %531 = load ptr, ptr %530, align 8
  %532 = getelementptr inbounds nuw i8, ptr %13, i64 88
  %533 = load ptr, ptr %532, align 8
  call void %531(ptr noundef %533) #18
  br label %534

534:                                              ; preds = %529, %525
  %535 = getelementptr inbounds nuw i8, ptr %13, i64 88
  %536 = load ptr, ptr %535, align 8
  br label %547

537:                                              ; preds = %524
  %538 = load ptr, ptr %43, align 8
  %539 = load ptr, ptr %41, align 8
  %540 = getelementptr inbounds nuw i8, ptr %539, i64 96
  %541 = load i32, ptr %540, align 8
  %542 = zext i32 %541 to i64
  %543 = getelementptr inbounds nuw i8, ptr %538, i64 %542
  br label %544

544:                                              ; preds = %524, %537
  %545 = phi ptr [ %543, %537 ], [ null, %524 ]
  %546 = call fastcc ptr @anew(ptr noundef %11, ptr noundef %545, ptr noundef %29, ptr noundef %30, i64 noundef %28, ptr noundef %3) #17
  br label %547

547:                                              ; preds = %524, %544, %534
  %548 = phi ptr [ %536, %534 ], [ %546, %544 ], [ null, %524 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %7) #16
  ret ptr %548
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(ptr captures(none)) #1

; Function Attrs: mustprogress nocallback nofree nounwind willreturn memory(argmem: write)
declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg) #2

; Function Attrs: noinline nounwind
define internal fastcc ptr @forward(ptr noundef readonly captures(none) %0, ptr noundef %1, ptr noundef %2, ptr noundef %3, ptr noundef readonly captures(none) %4, i64 noundef %5, ptr noundef %6) unnamed_addr #3 {
  %8 = icmp eq ptr %6, null
  br i1 %8, label %13, label %9

9:                                                ; preds = %7
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 200
  %11 = load ptr, ptr %10, align 8
  %12 = tail call i64 %11(ptr noundef nonnull %6) #18
  br label %13

13:                                               ; preds = %7, %9
  %14 = phi i64 [ %12, %9 ], [ 0, %7 ]
  %15 = add nsw i64 %14, %5
  %16 = add nsw i64 %15, 2
  %17 = alloca ptr, i64 %16, align 16
  store ptr %2, ptr %17, align 16
  %18 = getelementptr inbounds nuw i8, ptr %17, i64 8
  store ptr %3, ptr %18, align 8
  %19 = icmp sgt i64 %15, 0
  br i1 %19, label %20, label %42

20:                                               ; preds = %13
  %21 = add i64 %14, %5
  %22 = add i64 %21, -1
  %23 = and i64 %15, 7
  %24 = icmp ult i64 %22, 7
  br i1 %24, label %29, label %25

25:                                               ; preds = %20
  %26 = and i64 %15, 9223372036854775800
  br label %51

27:                                               ; preds = %51
  %28 = icmp eq i64 %23, 0
  br i1 %28, label %42, label %29

29:                                               ; preds = %27, %20
  %30 = phi i64 [ 0, %20 ], [ %93, %27 ]
  %31 = icmp ne i64 %23, 0
  tail call void @llvm.assume(i1 %31)
  br label %32

32:                                               ; preds = %32, %29
  %33 = phi i64 [ %39, %32 ], [ %30, %29 ]
  %34 = phi i64 [ %40, %32 ], [ 0, %29 ]
  %35 = getelementptr inbounds nuw ptr, ptr %4, i64 %33
  %36 = load ptr, ptr %35, align 8
  %37 = getelementptr inbounds nuw ptr, ptr %17, i64 %33
  %38 = getelementptr inbounds nuw i8, ptr %37, i64 16
  store ptr %36, ptr %38, align 8
  %39 = add nuw nsw i64 %33, 1
  %40 = add i64 %34, 1
  %41 = icmp eq i64 %40, %23
  br i1 %41, label %42, label %32, !llvm.loop !23

42:                                               ; preds = %27, %32, %13
  %43 = getelementptr inbounds nuw i8, ptr %0, i64 216
  %44 = load ptr, ptr %43, align 8
  %45 = icmp eq ptr %2, null
  %46 = zext i1 %45 to i64
  %47 = getelementptr inbounds nuw ptr, ptr %17, i64 %46
  %48 = select i1 %45, i64 1, i64 2
  %49 = add i64 %48, %5
  %50 = call ptr %44(ptr noundef %1, ptr noundef nonnull %47, i64 noundef %49, ptr noundef %6) #18
  ret ptr %50

51:                                               ; preds = %51, %25
  %52 = phi i64 [ 0, %25 ], [ %93, %51 ]
  %53 = phi i64 [ 0, %25 ], [ %94, %51 ]
  %54 = getelementptr inbounds nuw ptr, ptr %4, i64 %52
  %55 = load ptr, ptr %54, align 8
  %56 = getelementptr inbounds nuw ptr, ptr %17, i64 %52
  %57 = getelementptr inbounds nuw i8, ptr %56, i64 16
  store ptr %55, ptr %57, align 16
  %58 = or disjoint i64 %52, 1
  %59 = getelementptr inbounds nuw ptr, ptr %4, i64 %58
  %60 = load ptr, ptr %59, align 8
  %61 = getelementptr inbounds nuw ptr, ptr %17, i64 %58
  %62 = getelementptr inbounds nuw i8, ptr %61, i64 16
  store ptr %60, ptr %62, align 8
  %63 = or disjoint i64 %52, 2
  %64 = getelementptr inbounds nuw ptr, ptr %4, i64 %63
  %65 = load ptr, ptr %64, align 8
  %66 = getelementptr inbounds nuw ptr, ptr %17, i64 %63
  %67 = getelementptr inbounds nuw i8, ptr %66, i64 16
  store ptr %65, ptr %67, align 16
  %68 = or disjoint i64 %52, 3
  %69 = getelementptr inbounds nuw ptr, ptr %4, i64 %68
  %70 = load ptr, ptr %69, align 8
  %71 = getelementptr inbounds nuw ptr, ptr %17, i64 %68
  %72 = getelementptr inbounds nuw i8, ptr %71, i64 16
  store ptr %70, ptr %72, align 8
  %73 = or disjoint i64 %52, 4
  %74 = getelementptr inbounds nuw ptr, ptr %4, i64 %73
  %75 = load ptr, ptr %74, align 8
  %76 = getelementptr inbounds nuw ptr, ptr %17, i64 %73
  %77 = getelementptr inbounds nuw i8, ptr %76, i64 16
  store ptr %75, ptr %77, align 16
  %78 = or disjoint i64 %52, 5
  %79 = getelementptr inbounds nuw ptr, ptr %4, i64 %78
  %80 = load ptr, ptr %79, align 8
  %81 = getelementptr inbounds nuw ptr, ptr %17, i64 %78
  %82 = getelementptr inbounds nuw i8, ptr %81, i64 16
  store ptr %80, ptr %82, align 8
  %83 = or disjoint i64 %52, 6
  %84 = getelementptr inbounds nuw ptr, ptr %4, i64 %83
  %85 = load ptr, ptr %84, align 8
  %86 = getelementptr inbounds nuw ptr, ptr %17, i64 %83
  %87 = getelementptr inbounds nuw i8, ptr %86, i64 16
  store ptr %85, ptr %87, align 16
  %88 = or disjoint i64 %52, 7
  %89 = getelementptr inbounds nuw ptr, ptr %4, i64 %88
  %90 = load ptr, ptr %89, align 8
  %91 = getelementptr inbounds nuw ptr, ptr %17, i64 %88
  %92 = getelementptr inbounds nuw i8, ptr %91, i64 16
  store ptr %90, ptr %92, align 8
  %93 = add nuw nsw i64 %52, 8
  %94 = add i64 %53, 8
  %95 = icmp eq i64 %94, %26
  br i1 %95, label %27, label %51, !llvm.loop !24
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 1, 4) i32 @failed(ptr noundef readonly captures(none) %0) unnamed_addr #3 {
  %2 = getelementptr inbounds nuw i8, ptr %0, i64 152
  %3 = load ptr, ptr %2, align 8
  %4 = tail call ptr %3() #18
  %5 = icmp eq ptr %4, null
  br i1 %5, label %16, label %6

6:                                                ; preds = %1
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 168
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 328
  %10 = load ptr, ptr %9, align 8
  %11 = tail call i32 %8(ptr noundef %10) #18
  %12 = icmp eq i32 %11, 0
  br i1 %12, label %16, label %13

13:                                               ; preds = %6
  %14 = getelementptr inbounds nuw i8, ptr %0, i64 160
  %15 = load ptr, ptr %14, align 8
  tail call void %15() #18
  br label %16

16:                                               ; preds = %6, %1, %13
  %17 = phi i32 [ 1, %13 ], [ 1, %1 ], [ 3, %6 ]
  ret i32 %17
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @bind(ptr noundef readonly captures(none) %0, ptr noundef readonly captures(none) %1, ptr noundef readonly captures(none) %2, i64 noundef %3, ptr noundef %4, ptr noundef nonnull captures(none) %5) unnamed_addr #3 {
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 104
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %8, i64 8
  %10 = load i32, ptr %9, align 8
  %11 = zext i32 %10 to i64
  %12 = icmp ugt i64 %3, %11
  br i1 %12, label %97, label %13

13:                                               ; preds = %6
  %14 = load i32, ptr %8, align 8
  %15 = icmp eq i32 %14, 0
  br i1 %15, label %16, label %18

16:                                               ; preds = %24, %13
  %17 = icmp eq ptr %4, null
  br i1 %17, label %41, label %31

18:                                               ; preds = %13, %24
  %19 = phi i64 [ %27, %24 ], [ 0, %13 ]
  %20 = icmp ugt i64 %3, %19
  br i1 %20, label %21, label %24

21:                                               ; preds = %18
  %22 = getelementptr inbounds nuw ptr, ptr %2, i64 %19
  %23 = load ptr, ptr %22, align 8
  br label %24

24:                                               ; preds = %18, %21
  %25 = phi ptr [ %23, %21 ], [ null, %18 ]
  %26 = getelementptr inbounds nuw ptr, ptr %5, i64 %19
  store ptr %25, ptr %26, align 8
  %27 = add nuw nsw i64 %19, 1
  %28 = load i32, ptr %8, align 8
  %29 = zext i32 %28 to i64
  %30 = icmp samesign ult i64 %27, %29
  br i1 %30, label %18, label %16, !llvm.loop !25

31:                                               ; preds = %16
  %32 = getelementptr inbounds nuw i8, ptr %1, i64 200
  %33 = load ptr, ptr %32, align 8
  %34 = tail call i64 %33(ptr noundef nonnull %4) #18
  %35 = icmp sgt i64 %34, 0
  br i1 %35, label %36, label %41

36:                                               ; preds = %31
  %37 = getelementptr inbounds nuw i8, ptr %1, i64 192
  %38 = getelementptr inbounds nuw i8, ptr %8, i64 12
  %39 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %40 = getelementptr ptr, ptr %2, i64 %3
  br label %45

41:                                               ; preds = %74, %16, %31
  %42 = getelementptr inbounds nuw i8, ptr %0, i64 88
  %43 = load i32, ptr %8, align 8
  %44 = icmp eq i32 %43, 0
  br i1 %44, label %97, label %79

45:                                               ; preds = %36, %74
  %46 = phi i64 [ 0, %36 ], [ %77, %74 ]
  %47 = load ptr, ptr %37, align 8
  %48 = tail call ptr %47(ptr noundef nonnull %4, i64 noundef %46) #18
  %49 = load i32, ptr %38, align 4
  %50 = load i32, ptr %8, align 8
  %51 = icmp ult i32 %49, %50
  br i1 %51, label %52, label %66

52:                                               ; preds = %45
  %53 = load ptr, ptr %39, align 8
  %54 = zext i32 %49 to i64
  %55 = zext i32 %50 to i64
  br label %56

56:                                               ; preds = %52, %61
  %57 = phi i64 [ %54, %52 ], [ %62, %61 ]
  %58 = getelementptr inbounds nuw ptr, ptr %53, i64 %57
  %59 = load ptr, ptr %58, align 8
  %60 = icmp eq ptr %59, %48
  br i1 %60, label %64, label %61

61:                                               ; preds = %56
  %62 = add nuw nsw i64 %57, 1
  %63 = icmp eq i64 %62, %55
  br i1 %63, label %97, label %56, !llvm.loop !26

64:                                               ; preds = %56
  %65 = trunc nuw i64 %57 to i32
  br label %66

66:                                               ; preds = %64, %45
  %67 = phi i32 [ %49, %45 ], [ %65, %64 ]
  %68 = icmp eq i32 %67, %50
  br i1 %68, label %97, label %69

69:                                               ; preds = %66
  %70 = zext i32 %67 to i64
  %71 = getelementptr inbounds nuw ptr, ptr %5, i64 %70
  %72 = load ptr, ptr %71, align 8
  %73 = icmp eq ptr %72, null
  br i1 %73, label %74, label %97

74:                                               ; preds = %69
  %75 = getelementptr ptr, ptr %40, i64 %46
  %76 = load ptr, ptr %75, align 8
  store ptr %76, ptr %71, align 8
  %77 = add nuw nsw i64 %46, 1
  %78 = icmp eq i64 %77, %34
  br i1 %78, label %41, label %45, !llvm.loop !27

79:                                               ; preds = %41, %92
  %80 = phi i32 [ %93, %92 ], [ %43, %41 ]
  %81 = phi i64 [ %94, %92 ], [ 0, %41 ]
  %82 = getelementptr inbounds nuw ptr, ptr %5, i64 %81
  %83 = load ptr, ptr %82, align 8
  %84 = icmp eq ptr %83, null
  br i1 %84, label %85, label %92

85:                                               ; preds = %79
  %86 = load ptr, ptr %42, align 8
  %87 = getelementptr inbounds nuw ptr, ptr %86, i64 %81
  %88 = load ptr, ptr %87, align 8
  store ptr %88, ptr %82, align 8
  %89 = icmp eq ptr %88, null
  br i1 %89, label %97, label %90

90:                                               ; preds = %85
  %91 = load i32, ptr %8, align 8
  br label %92

92:                                               ; preds = %90, %79
  %93 = phi i32 [ %91, %90 ], [ %80, %79 ]
  %94 = add nuw nsw i64 %81, 1
  %95 = zext i32 %93 to i64
  %96 = icmp samesign ult i64 %94, %95
  br i1 %96, label %79, label %97, !llvm.loop !28

97:                                               ; preds = %66, %69, %61, %85, %92, %41, %6
  %98 = phi i32 [ 1, %6 ], [ 1, %85 ], [ 0, %41 ], [ 1, %61 ], [ 0, %92 ], [ 1, %69 ], [ 1, %66 ]
  ret i32 %98
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(ptr captures(none)) #1

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @fetch(ptr noundef readonly captures(none) %0, ptr noundef readonly captures(none) %1, ptr noundef nonnull captures(none) %2, ptr noundef captures(none) %3) unnamed_addr #3 {
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 104
  %6 = load ptr, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %6, i64 136
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %6, i64 20
  %10 = load i32, ptr %9, align 4
  %11 = zext i32 %10 to i64
  %12 = shl nuw nsw i64 %11, 4
  %13 = getelementptr inbounds nuw i8, ptr %8, i64 %12
  %14 = load i32, ptr %6, align 8
  %15 = getelementptr inbounds nuw i8, ptr %6, i64 16
  %16 = load i32, ptr %15, align 8
  %17 = icmp ult i32 %14, %16
  br i1 %17, label %18, label %20

18:                                               ; preds = %4
  %19 = zext i32 %14 to i64
  br label %30

20:                                               ; preds = %30, %4
  %21 = icmp eq i32 %10, 0
  br i1 %21, label %141, label %22

22:                                               ; preds = %20
  %23 = getelementptr inbounds nuw i8, ptr %1, i64 240
  %24 = getelementptr inbounds nuw i8, ptr %1, i64 104
  %25 = getelementptr inbounds nuw i8, ptr %1, i64 320
  %26 = getelementptr inbounds nuw i8, ptr %1, i64 232
  %27 = getelementptr inbounds nuw i8, ptr %0, i64 96
  %28 = getelementptr inbounds nuw i8, ptr %1, i64 248
  %29 = getelementptr inbounds nuw i8, ptr %1, i64 88
  br label %39

30:                                               ; preds = %18, %30
  %31 = phi i64 [ %19, %18 ], [ %33, %30 ]
  %32 = getelementptr inbounds nuw ptr, ptr %2, i64 %31
  store ptr null, ptr %32, align 8
  %33 = add nuw nsw i64 %31, 1
  %34 = load ptr, ptr %5, align 8
  %35 = getelementptr inbounds nuw i8, ptr %34, i64 16
  %36 = load i32, ptr %35, align 8
  %37 = zext i32 %36 to i64
  %38 = icmp samesign ult i64 %33, %37
  br i1 %38, label %30, label %20, !llvm.loop !29

39:                                               ; preds = %22, %136
  %40 = phi ptr [ %8, %22 ], [ %137, %136 ]
  %41 = getelementptr inbounds nuw i8, ptr %40, i64 4
  %42 = load i16, ptr %41, align 4
  %43 = icmp eq i16 %42, -1
  br i1 %43, label %56, label %44

44:                                               ; preds = %39
  %45 = zext i16 %42 to i64
  %46 = getelementptr inbounds nuw i8, ptr %3, i64 %45
  %47 = load i8, ptr %46, align 1
  %48 = icmp eq i8 %47, 0
  %49 = getelementptr inbounds nuw i8, ptr %40, i64 2
  %50 = load i16, ptr %49, align 2
  %51 = zext i16 %50 to i64
  %52 = getelementptr inbounds nuw ptr, ptr %2, i64 %51
  %53 = load ptr, ptr %52, align 8
  %54 = load i16, ptr %40, align 4
  %55 = icmp eq i16 %54, 0
  br i1 %55, label %64, label %76

56:                                               ; preds = %39
  %57 = getelementptr inbounds nuw i8, ptr %40, i64 2
  %58 = load i16, ptr %57, align 2
  %59 = zext i16 %58 to i64
  %60 = getelementptr inbounds nuw ptr, ptr %2, i64 %59
  %61 = load ptr, ptr %60, align 8
  %62 = load i16, ptr %40, align 4
  %63 = icmp eq i16 %62, 0
  br i1 %63, label %65, label %77

64:                                               ; preds = %44
  br i1 %48, label %70, label %65

65:                                               ; preds = %56, %64
  %66 = phi ptr [ %53, %64 ], [ %61, %56 ]
  %67 = load ptr, ptr %29, align 8
  %68 = icmp ne ptr %66, %67
  %69 = zext i1 %68 to i8
  br label %70

70:                                               ; preds = %65, %64
  %71 = phi i8 [ 0, %64 ], [ %69, %65 ]
  %72 = getelementptr inbounds nuw i8, ptr %40, i64 6
  %73 = load i16, ptr %72, align 2
  %74 = zext i16 %73 to i64
  %75 = getelementptr inbounds nuw i8, ptr %3, i64 %74
  store i8 %71, ptr %75, align 1
  br label %136

76:                                               ; preds = %44
  br i1 %48, label %136, label %77

77:                                               ; preds = %56, %76
  %78 = phi ptr [ %53, %76 ], [ %61, %56 ]
  %79 = phi i16 [ %54, %76 ], [ %62, %56 ]
  switch i16 %79, label %120 [
    i16 2, label %80
    i16 3, label %94
    i16 4, label %109
  ]

80:                                               ; preds = %77
  %81 = load ptr, ptr %26, align 8
  %82 = load ptr, ptr %27, align 8
  %83 = getelementptr inbounds nuw i8, ptr %40, i64 8
  %84 = load i32, ptr %83, align 4
  %85 = zext i32 %84 to i64
  %86 = getelementptr inbounds nuw ptr, ptr %82, i64 %85
  %87 = load ptr, ptr %86, align 8
  %88 = tail call ptr %81(ptr noundef %78, ptr noundef %87) #18
  %89 = getelementptr inbounds nuw i8, ptr %40, i64 6
  %90 = load i16, ptr %89, align 2
  %91 = zext i16 %90 to i64
  %92 = getelementptr inbounds nuw ptr, ptr %2, i64 %91
  store ptr %88, ptr %92, align 8
  %93 = icmp eq ptr %88, null
  br i1 %93, label %139, label %136

94:                                               ; preds = %77
  %95 = getelementptr inbounds nuw i8, ptr %78, i64 8
  %96 = load ptr, ptr %95, align 8
  %97 = load ptr, ptr %24, align 8
  %98 = icmp eq ptr %96, %97
  br i1 %98, label %102, label %99

99:                                               ; preds = %94
  %100 = load ptr, ptr %25, align 8
  %101 = icmp eq ptr %96, %100
  br i1 %101, label %102, label %141

102:                                              ; preds = %99, %94
  %103 = getelementptr inbounds nuw i8, ptr %78, i64 16
  %104 = load i64, ptr %103, align 8
  %105 = getelementptr inbounds nuw i8, ptr %40, i64 8
  %106 = load i32, ptr %105, align 4
  %107 = zext i32 %106 to i64
  %108 = icmp eq i64 %104, %107
  br i1 %108, label %136, label %141

109:                                              ; preds = %77
  %110 = load ptr, ptr %23, align 8
  %111 = getelementptr inbounds nuw i8, ptr %40, i64 8
  %112 = load i32, ptr %111, align 4
  %113 = zext i32 %112 to i64
  %114 = tail call ptr %110(ptr noundef %78, i64 noundef %113) #18
  %115 = getelementptr inbounds nuw i8, ptr %40, i64 6
  %116 = load i16, ptr %115, align 2
  %117 = zext i16 %116 to i64
  %118 = getelementptr inbounds nuw ptr, ptr %2, i64 %117
  store ptr %114, ptr %118, align 8
  %119 = icmp eq ptr %114, null
  br i1 %119, label %139, label %136

120:                                              ; preds = %77
  %121 = getelementptr inbounds nuw i8, ptr %78, i64 8
  %122 = load ptr, ptr %121, align 8
  %123 = load ptr, ptr %27, align 8
  %124 = getelementptr inbounds nuw i8, ptr %40, i64 8
  %125 = load i32, ptr %124, align 4
  %126 = zext i32 %125 to i64
  %127 = getelementptr inbounds nuw ptr, ptr %123, i64 %126
  %128 = load ptr, ptr %127, align 8
  %129 = icmp eq ptr %122, %128
  br i1 %129, label %136, label %130

130:                                              ; preds = %120
  %131 = load ptr, ptr %28, align 8
  %132 = tail call i32 %131(ptr noundef nonnull %78, ptr noundef %128) #18
  %133 = icmp eq i32 %132, 1
  br i1 %133, label %136, label %134

134:                                              ; preds = %130
  %135 = icmp slt i32 %132, 0
  br i1 %135, label %139, label %141

136:                                              ; preds = %102, %76, %130, %120, %109, %80, %70
  %137 = getelementptr inbounds nuw i8, ptr %40, i64 16
  %138 = icmp ult ptr %137, %13
  br i1 %138, label %39, label %141, !llvm.loop !30

139:                                              ; preds = %109, %80, %134
  %140 = tail call fastcc i32 @failed(ptr noundef nonnull %1) #17
  br label %141

141:                                              ; preds = %136, %99, %102, %139, %20, %134
  %142 = phi i32 [ 1, %134 ], [ 0, %20 ], [ %140, %139 ], [ 1, %99 ], [ 0, %136 ], [ 1, %102 ]
  ret i32 %142
}

; Function Attrs: noinline nounwind
define internal fastcc ptr @anew(ptr noundef readonly captures(none) %0, ptr noundef %1, ptr noundef %2, ptr noundef readonly captures(none) %3, i64 noundef %4, ptr noundef %5) unnamed_addr #3 {
  %7 = load ptr, ptr %0, align 8
  %8 = icmp eq ptr %1, null
  br i1 %8, label %9, label %13

9:                                                ; preds = %6
  %10 = getelementptr inbounds nuw i8, ptr %7, i64 88
  %11 = load ptr, ptr %10, align 8
  %12 = icmp eq ptr %11, null
  br i1 %12, label %34, label %24

13:                                               ; preds = %6
  %14 = getelementptr inbounds nuw i8, ptr %7, i64 208
  %15 = load ptr, ptr %14, align 8
  %16 = getelementptr inbounds nuw i8, ptr %0, i64 104
  %17 = load ptr, ptr %16, align 8
  %18 = getelementptr inbounds nuw i8, ptr %17, i64 68
  %19 = load i32, ptr %18, align 4
  %20 = shl i32 %19, 3
  %21 = zext i32 %20 to i64
  %22 = tail call ptr %15(ptr noundef nonnull %1, i64 noundef %21) #18
  %23 = icmp eq ptr %22, null
  br i1 %23, label %34, label %27

24:                                               ; preds = %9
  %25 = getelementptr inbounds nuw i8, ptr %7, i64 176
  %26 = load ptr, ptr %25, align 8
  tail call void %26(ptr noundef nonnull %11) #18
  br label %27

27:                                               ; preds = %13, %24
  %28 = phi ptr [ %22, %13 ], [ %11, %24 ]
  %29 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %30 = load ptr, ptr %29, align 8
  %31 = tail call fastcc ptr @forward(ptr noundef nonnull %7, ptr noundef %30, ptr noundef nonnull %28, ptr noundef %2, ptr noundef %3, i64 noundef %4, ptr noundef %5) #17
  %32 = getelementptr inbounds nuw i8, ptr %7, i64 184
  %33 = load ptr, ptr %32, align 8
  tail call void %33(ptr noundef nonnull %28) #18
  br label %34

34:                                               ; preds = %13, %9, %27
  %35 = phi ptr [ %31, %27 ], [ null, %9 ], [ null, %13 ]
  ret ptr %35
}

; Function Attrs: nounwind
define ptr @subscript(ptr noundef readonly captures(none) %0, ptr noundef %1, i64 noundef %2, ptr noundef %3) local_unnamed_addr #0 {
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %6 = load ptr, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %6, i64 32
  %8 = getelementptr inbounds nuw i8, ptr %6, i64 56
  %9 = load ptr, ptr %8, align 8
  %10 = icmp eq i64 %2, 1
  %11 = icmp eq ptr %3, null
  %12 = and i1 %10, %11
  br i1 %12, label %13, label %62, !prof !4

13:                                               ; preds = %4
  %14 = load ptr, ptr %1, align 8
  %15 = load ptr, ptr %7, align 8
  %16 = getelementptr inbounds nuw i8, ptr %15, i64 104
  %17 = load ptr, ptr %16, align 8
  %18 = getelementptr inbounds nuw i8, ptr %14, i64 8
  %19 = load ptr, ptr %18, align 8
  %20 = icmp eq ptr %19, %17
  br i1 %20, label %21, label %47

21:                                               ; preds = %13
  %22 = getelementptr inbounds nuw i8, ptr %9, i64 48
  %23 = load ptr, ptr %22, align 8
  %24 = getelementptr inbounds nuw i8, ptr %23, i64 8
  %25 = load ptr, ptr %24, align 8
  %26 = icmp eq ptr %25, %17
  br i1 %26, label %27, label %47

27:                                               ; preds = %21
  %28 = getelementptr inbounds nuw i8, ptr %14, i64 16
  %29 = load i64, ptr %28, align 8
  %30 = icmp eq i64 %29, 2
  br i1 %30, label %31, label %47

31:                                               ; preds = %27
  %32 = getelementptr inbounds nuw i8, ptr %23, i64 16
  %33 = load i64, ptr %32, align 8
  %34 = icmp eq i64 %33, 2
  br i1 %34, label %35, label %47

35:                                               ; preds = %31
  %36 = getelementptr inbounds nuw i8, ptr %14, i64 24
  %37 = load ptr, ptr %36, align 8
  %38 = getelementptr inbounds nuw i8, ptr %23, i64 24
  %39 = load ptr, ptr %38, align 8
  %40 = icmp eq ptr %37, %39
  br i1 %40, label %41, label %47

41:                                               ; preds = %35
  %42 = getelementptr inbounds nuw i8, ptr %14, i64 32
  %43 = load ptr, ptr %42, align 8
  %44 = getelementptr inbounds nuw i8, ptr %23, i64 32
  %45 = load ptr, ptr %44, align 8
  %46 = icmp eq ptr %43, %45
  br i1 %46, label %56, label %47

47:                                               ; preds = %13, %21, %27, %31, %35, %41
  %48 = tail call fastcc ptr @found(ptr noundef nonnull %7, ptr noundef nonnull %14) #17
  %49 = icmp eq ptr %48, null
  br i1 %49, label %62, label %50, !prof !31

50:                                               ; preds = %47
  %51 = getelementptr inbounds nuw i8, ptr %48, i64 40
  %52 = load ptr, ptr %51, align 8
  %53 = load i32, ptr %52, align 8
  %54 = add i32 %53, 1
  store i32 %54, ptr %52, align 8
  %55 = load ptr, ptr %51, align 8
  br label %69

56:                                               ; preds = %41
  %57 = getelementptr inbounds nuw i8, ptr %9, i64 40
  %58 = load ptr, ptr %57, align 8
  %59 = load i32, ptr %58, align 8
  %60 = add i32 %59, 1
  store i32 %60, ptr %58, align 8
  %61 = load ptr, ptr %57, align 8
  br label %69

62:                                               ; preds = %47, %4
  %63 = load ptr, ptr %7, align 8
  %64 = getelementptr inbounds nuw i8, ptr %63, i64 216
  %65 = load ptr, ptr %64, align 8
  %66 = getelementptr inbounds nuw i8, ptr %6, i64 48
  %67 = load ptr, ptr %66, align 8
  %68 = tail call ptr %65(ptr noundef %67, ptr noundef %1, i64 noundef %2, ptr noundef %3) #18
  br label %69

69:                                               ; preds = %56, %50, %62
  %70 = phi ptr [ %68, %62 ], [ %61, %56 ], [ %55, %50 ]
  ret ptr %70
}

; Function Attrs: noinline nounwind
define internal fastcc noundef ptr @found(ptr noundef captures(none) %0, ptr noundef %1) unnamed_addr #3 {
  %3 = alloca [5 x i64], align 16
  call void @llvm.lifetime.start.p0(ptr nonnull %3) #16
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 16 dereferenceable(40) %3, i8 0, i64 40, i1 false)
  %4 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %5 = load ptr, ptr %4, align 8
  %6 = load ptr, ptr %0, align 8
  %7 = getelementptr inbounds nuw i8, ptr %6, i64 104
  %8 = load ptr, ptr %7, align 8
  %9 = icmp eq ptr %5, %8
  br i1 %9, label %10, label %14

10:                                               ; preds = %2
  %11 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %12 = load i64, ptr %11, align 8
  %13 = icmp eq i64 %12, 0
  br i1 %13, label %14, label %18

14:                                               ; preds = %2, %10
  %15 = getelementptr inbounds nuw i8, ptr %6, i64 32
  %16 = load ptr, ptr %15, align 8
  %17 = icmp eq ptr %5, %16
  br i1 %17, label %22, label %113

18:                                               ; preds = %10
  %19 = icmp eq i64 %12, 1
  %20 = icmp sgt i64 %12, 3
  %21 = or i1 %19, %20
  br i1 %21, label %113, label %25

22:                                               ; preds = %14
  %23 = call fastcc i32 @shape_of(ptr noundef nonnull %6, ptr noundef nonnull %1, ptr noundef %3) #17
  %24 = icmp eq i32 %23, 0
  br i1 %24, label %39, label %113

25:                                               ; preds = %18
  %26 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %27 = load ptr, ptr %26, align 8
  %28 = call fastcc i32 @shape_of(ptr noundef nonnull %6, ptr noundef %27, ptr noundef %3) #17
  %29 = icmp eq i32 %28, 0
  br i1 %29, label %30, label %113

30:                                               ; preds = %25
  %31 = load ptr, ptr %0, align 8
  %32 = getelementptr inbounds nuw i8, ptr %1, i64 32
  %33 = load ptr, ptr %32, align 8
  %34 = getelementptr inbounds nuw i8, ptr %3, i64 16
  %35 = call fastcc i32 @shape_of(ptr noundef %31, ptr noundef %33, ptr noundef %34) #17
  %36 = icmp eq i32 %35, 0
  br i1 %36, label %37, label %113

37:                                               ; preds = %30
  %38 = icmp eq i64 %12, 3
  br i1 %38, label %42, label %39

39:                                               ; preds = %22, %37
  %40 = getelementptr inbounds nuw i8, ptr %3, i64 32
  %41 = load i64, ptr %40, align 16
  br label %46

42:                                               ; preds = %37
  %43 = getelementptr inbounds nuw i8, ptr %1, i64 40
  %44 = load ptr, ptr %43, align 8
  %45 = ptrtoint ptr %44 to i64
  br label %46

46:                                               ; preds = %39, %42
  %47 = phi i64 [ %41, %39 ], [ %45, %42 ]
  %48 = load i64, ptr %3, align 16
  %49 = mul i64 %48, -7046029254386353131
  %50 = lshr i64 %49, 29
  %51 = xor i64 %50, %49
  %52 = getelementptr inbounds nuw i8, ptr %3, i64 8
  %53 = load i64, ptr %52, align 8
  %54 = xor i64 %53, %51
  %55 = mul i64 %54, -7046029254386353131
  %56 = lshr i64 %55, 29
  %57 = xor i64 %56, %55
  %58 = getelementptr inbounds nuw i8, ptr %3, i64 16
  %59 = load i64, ptr %58, align 16
  %60 = xor i64 %59, %57
  %61 = mul i64 %60, -7046029254386353131
  %62 = lshr i64 %61, 29
  %63 = xor i64 %62, %61
  %64 = getelementptr inbounds nuw i8, ptr %3, i64 24
  %65 = load i64, ptr %64, align 8
  %66 = xor i64 %65, %63
  %67 = mul i64 %66, -7046029254386353131
  %68 = lshr i64 %67, 29
  %69 = xor i64 %68, %67
  %70 = xor i64 %47, %69
  %71 = mul i64 %70, -7046029254386353131
  %72 = lshr i64 %71, 29
  %73 = xor i64 %72, %71
  %74 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %75 = load ptr, ptr %74, align 8
  %76 = getelementptr inbounds nuw i8, ptr %75, i64 64
  %77 = load i64, ptr %75, align 8
  %78 = and i64 %77, %73
  %79 = getelementptr inbounds nuw %struct.subscript_entry, ptr %76, i64 %78
  %80 = getelementptr inbounds nuw i8, ptr %79, i64 40
  %81 = load ptr, ptr %80, align 8
  %82 = icmp eq ptr %81, null
  br i1 %82, label %113, label %90

83:                                               ; preds = %90
  %84 = add i64 %92, 1
  %85 = and i64 %77, %84
  %86 = getelementptr inbounds nuw %struct.subscript_entry, ptr %76, i64 %85
  %87 = getelementptr inbounds nuw i8, ptr %86, i64 40
  %88 = load ptr, ptr %87, align 8
  %89 = icmp eq ptr %88, null
  br i1 %89, label %113, label %90

90:                                               ; preds = %46, %83
  %91 = phi ptr [ %86, %83 ], [ %79, %46 ]
  %92 = phi i64 [ %84, %83 ], [ %73, %46 ]
  %93 = load i64, ptr %91, align 8
  %94 = icmp ne i64 %93, %48
  %95 = getelementptr inbounds nuw i8, ptr %91, i64 8
  %96 = load i64, ptr %95, align 8
  %97 = icmp ne i64 %96, %53
  %98 = getelementptr inbounds nuw i8, ptr %91, i64 16
  %99 = load i64, ptr %98, align 8
  %100 = icmp ne i64 %99, %59
  %101 = getelementptr inbounds nuw i8, ptr %91, i64 24
  %102 = load i64, ptr %101, align 8
  %103 = icmp ne i64 %102, %65
  %104 = getelementptr inbounds nuw i8, ptr %91, i64 32
  %105 = load i64, ptr %104, align 8
  %106 = icmp ne i64 %105, %47
  %107 = select i1 %106, i1 true, i1 %103
  %108 = select i1 %107, i1 true, i1 %100
  %109 = select i1 %108, i1 true, i1 %97
  %110 = select i1 %109, i1 true, i1 %94
  br i1 %110, label %83, label %111

111:                                              ; preds = %90
  %112 = getelementptr inbounds nuw i8, ptr %0, i64 24
  store ptr %91, ptr %112, align 8
  br label %113

113:                                              ; preds = %83, %18, %46, %111, %25, %30, %22, %14
  %114 = phi ptr [ null, %14 ], [ null, %18 ], [ null, %25 ], [ null, %22 ], [ null, %30 ], [ %91, %111 ], [ null, %46 ], [ null, %83 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %3) #16
  ret ptr %114
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn
declare ptr @llvm.stacksave.p0() #4

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn
declare void @llvm.stackrestore.p0(ptr) #4

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @are_globals_unchanged(ptr noundef readonly captures(none) %0, ptr noundef captures(none) %1, ptr noundef readonly captures(none) %2, i64 noundef %3) unnamed_addr #3 {
  %5 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %6 = load i64, ptr %5, align 8
  %7 = icmp eq i64 %6, 0
  br i1 %7, label %26, label %8

8:                                                ; preds = %4
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 256
  br label %10

10:                                               ; preds = %8, %21
  %11 = phi i64 [ 0, %8 ], [ %22, %21 ]
  %12 = phi ptr [ %2, %8 ], [ %23, %21 ]
  %13 = load ptr, ptr %9, align 8
  %14 = load ptr, ptr %12, align 8
  %15 = getelementptr inbounds nuw i8, ptr %12, i64 8
  %16 = load ptr, ptr %15, align 8
  %17 = tail call ptr %13(ptr noundef %14, ptr noundef %16) #18
  %18 = getelementptr inbounds nuw i8, ptr %12, i64 16
  %19 = load ptr, ptr %18, align 8
  %20 = icmp eq ptr %17, %19
  br i1 %20, label %21, label %31

21:                                               ; preds = %10
  %22 = add nuw i64 %11, 1
  %23 = getelementptr inbounds nuw i8, ptr %12, i64 24
  %24 = load i64, ptr %5, align 8
  %25 = icmp ult i64 %22, %24
  br i1 %25, label %10, label %26, !llvm.loop !32

26:                                               ; preds = %21, %4
  %27 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %28 = load i64, ptr %27, align 8
  %29 = or i64 %28, %3
  %30 = getelementptr inbounds nuw i8, ptr %1, i64 16
  store i64 %29, ptr %30, align 8
  br label %31

31:                                               ; preds = %10, %26
  %32 = phi i32 [ 1, %26 ], [ 0, %10 ]
  ret i32 %32
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 5) i32 @arrays(ptr noundef nonnull captures(none) %0) unnamed_addr #3 {
  %2 = alloca i32, align 4
  %3 = load ptr, ptr %0, align 8
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr inbounds nuw i8, ptr %3, i64 16
  %7 = load ptr, ptr %6, align 8
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %9 = load ptr, ptr %8, align 8
  %10 = getelementptr inbounds nuw i8, ptr %5, i64 96
  %11 = load i32, ptr %10, align 8
  %12 = zext i32 %11 to i64
  %13 = getelementptr inbounds nuw i8, ptr %9, i64 %12
  %14 = getelementptr inbounds nuw i8, ptr %5, i64 60
  %15 = load i32, ptr %14, align 4
  %16 = zext i32 %15 to i64
  %17 = getelementptr inbounds nuw i8, ptr %9, i64 %16
  %18 = getelementptr inbounds nuw i8, ptr %5, i64 100
  %19 = load i32, ptr %18, align 4
  %20 = zext i32 %19 to i64
  %21 = getelementptr inbounds nuw i8, ptr %13, i64 %20
  %22 = getelementptr inbounds nuw i8, ptr %5, i64 72
  %23 = load i32, ptr %22, align 8
  %24 = zext i32 %23 to i64
  %25 = getelementptr inbounds nuw i8, ptr %13, i64 %24
  %26 = getelementptr inbounds nuw i8, ptr %5, i64 104
  %27 = load i32, ptr %26, align 8
  %28 = zext i32 %27 to i64
  %29 = getelementptr inbounds nuw i8, ptr %13, i64 %28
  %30 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %31 = load ptr, ptr %30, align 8
  %32 = getelementptr inbounds nuw i8, ptr %5, i64 68
  %33 = load i32, ptr %32, align 4
  %34 = icmp ugt i32 %33, 3
  br i1 %34, label %49, label %35

35:                                               ; preds = %49, %1
  %36 = getelementptr inbounds nuw i8, ptr %5, i64 144
  %37 = load ptr, ptr %36, align 8
  %38 = getelementptr inbounds nuw i8, ptr %5, i64 28
  %39 = load i32, ptr %38, align 4
  %40 = zext i32 %39 to i64
  %41 = shl nuw nsw i64 %40, 4
  %42 = getelementptr inbounds nuw i8, ptr %37, i64 %41
  %43 = icmp eq i32 %39, 0
  br i1 %43, label %463, label %44

44:                                               ; preds = %35
  %45 = getelementptr inbounds nuw i8, ptr %3, i64 24
  %46 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %47 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %48 = getelementptr inbounds nuw i8, ptr %0, i64 52
  br label %56

49:                                               ; preds = %1, %49
  %50 = phi i64 [ %52, %49 ], [ 3, %1 ]
  %51 = getelementptr inbounds nuw i64, ptr %13, i64 %50
  store i64 0, ptr %51, align 8
  %52 = add nuw nsw i64 %50, 1
  %53 = load i32, ptr %32, align 4
  %54 = zext i32 %53 to i64
  %55 = icmp samesign ult i64 %52, %54
  br i1 %55, label %49, label %35, !llvm.loop !33

56:                                               ; preds = %44, %455
  %57 = phi ptr [ %7, %44 ], [ %457, %455 ]
  %58 = phi i64 [ -1, %44 ], [ %456, %455 ]
  %59 = phi ptr [ %9, %44 ], [ %459, %455 ]
  %60 = phi ptr [ %25, %44 ], [ %460, %455 ]
  %61 = phi ptr [ %29, %44 ], [ %461, %455 ]
  %62 = phi ptr [ %37, %44 ], [ %458, %455 ]
  %63 = getelementptr inbounds nuw i8, ptr %62, i64 2
  %64 = load i16, ptr %63, align 2
  %65 = icmp eq i16 %64, -1
  br i1 %65, label %77, label %66

66:                                               ; preds = %56
  %67 = load ptr, ptr %8, align 8
  %68 = load ptr, ptr %4, align 8
  %69 = getelementptr inbounds nuw i8, ptr %68, i64 124
  %70 = load i32, ptr %69, align 4
  %71 = zext i32 %70 to i64
  %72 = getelementptr inbounds nuw i8, ptr %67, i64 %71
  %73 = zext i16 %64 to i64
  %74 = getelementptr inbounds nuw i8, ptr %72, i64 %73
  %75 = load i8, ptr %74, align 1
  %76 = icmp eq i8 %75, 0
  br i1 %76, label %455, label %77, !prof !34

77:                                               ; preds = %56, %66
  %78 = load i16, ptr %62, align 8
  %79 = zext i16 %78 to i64
  %80 = getelementptr inbounds nuw ptr, ptr %31, i64 %79
  %81 = load ptr, ptr %80, align 8
  %82 = getelementptr inbounds nuw i8, ptr %62, i64 8
  %83 = load ptr, ptr %82, align 8
  %84 = load ptr, ptr %57, align 8
  %85 = getelementptr inbounds nuw i8, ptr %81, i64 8
  %86 = load ptr, ptr %85, align 8
  %87 = icmp eq ptr %84, %86
  br i1 %87, label %88, label %189, !prof !4

88:                                               ; preds = %77
  %89 = getelementptr inbounds nuw i8, ptr %57, i64 8
  %90 = load i64, ptr %89, align 8
  %91 = icmp eq i64 %90, 6
  br i1 %91, label %92, label %189, !prof !4

92:                                               ; preds = %88
  %93 = load ptr, ptr %45, align 8
  %94 = load i64, ptr %93, align 8
  %95 = getelementptr inbounds nuw i8, ptr %81, i64 %94
  %96 = load ptr, ptr %95, align 8
  %97 = getelementptr inbounds nuw i8, ptr %93, i64 8
  %98 = load i64, ptr %97, align 8
  %99 = getelementptr inbounds nuw i8, ptr %96, i64 %98
  %100 = load i64, ptr %99, align 8
  %101 = getelementptr inbounds nuw i8, ptr %93, i64 72
  %102 = load i64, ptr %101, align 8
  %103 = icmp eq i64 %100, %102
  br i1 %103, label %108, label %104

104:                                              ; preds = %92
  %105 = getelementptr inbounds nuw i8, ptr %93, i64 80
  %106 = load i64, ptr %105, align 8
  %107 = icmp eq i64 %100, %106
  br i1 %107, label %108, label %189, !prof !4

108:                                              ; preds = %104, %92
  %109 = getelementptr inbounds nuw i8, ptr %93, i64 16
  %110 = load i64, ptr %109, align 8
  %111 = getelementptr inbounds nuw i8, ptr %96, i64 %110
  %112 = load i64, ptr %111, align 8
  %113 = getelementptr inbounds nuw i8, ptr %93, i64 48
  %114 = load i64, ptr %113, align 8
  %115 = getelementptr inbounds nuw i8, ptr %96, i64 %114
  %116 = load i16, ptr %115, align 2
  %117 = icmp ugt i64 %112, 5
  %118 = icmp ugt i16 %116, 63
  %119 = select i1 %117, i1 true, i1 %118, !prof !5
  br i1 %119, label %189, label %120, !prof !5

120:                                              ; preds = %108
  %121 = zext nneg i16 %116 to i64
  %122 = getelementptr inbounds nuw i8, ptr %93, i64 88
  %123 = getelementptr inbounds nuw i32, ptr %122, i64 %121
  %124 = load i32, ptr %123, align 4
  %125 = getelementptr inbounds nuw i8, ptr %93, i64 32
  %126 = load i64, ptr %125, align 8
  %127 = getelementptr inbounds nuw i8, ptr %96, i64 %126
  %128 = load ptr, ptr %127, align 8
  %129 = getelementptr inbounds nuw i8, ptr %93, i64 56
  %130 = load i64, ptr %129, align 8
  %131 = getelementptr inbounds nuw i8, ptr %128, i64 %130
  %132 = load i64, ptr %131, align 8
  %133 = getelementptr inbounds nuw i8, ptr %93, i64 40
  %134 = load i64, ptr %133, align 8
  %135 = getelementptr inbounds nuw i8, ptr %96, i64 %134
  %136 = icmp ne i32 %124, 0
  %137 = icmp ne i64 %132, 0
  %138 = select i1 %136, i1 %137, i1 false, !prof !35
  br i1 %138, label %139, label %189, !prof !35

139:                                              ; preds = %120
  %140 = getelementptr inbounds nuw i8, ptr %93, i64 64
  %141 = load i64, ptr %140, align 8
  %142 = getelementptr inbounds nuw i8, ptr %128, i64 %141
  %143 = load i64, ptr %142, align 8
  %144 = icmp eq i64 %132, %143
  br i1 %144, label %145, label %189, !prof !4

145:                                              ; preds = %139
  %146 = load i8, ptr %135, align 1
  %147 = icmp eq i8 %146, 1
  br i1 %147, label %148, label %189, !prof !4

148:                                              ; preds = %145
  %149 = getelementptr inbounds nuw i8, ptr %93, i64 24
  %150 = load i64, ptr %149, align 8
  %151 = getelementptr inbounds nuw i8, ptr %96, i64 %150
  %152 = load i64, ptr %151, align 8
  %153 = lshr i32 %124, 11
  %154 = and i32 %153, 31
  %155 = zext nneg i32 %154 to i64
  %156 = mul i64 %152, %155
  %157 = add i64 %156, %132
  %158 = getelementptr inbounds nuw i8, ptr %135, i64 1
  %159 = load i8, ptr %158, align 1
  %160 = zext i8 %159 to i32
  %161 = trunc nuw nsw i64 %112 to i32
  %162 = getelementptr inbounds nuw i8, ptr %111, i64 8
  %163 = getelementptr inbounds nuw i8, ptr %111, i64 48
  %164 = load ptr, ptr %46, align 8
  %165 = icmp eq ptr %164, null
  br i1 %165, label %166, label %169, !prof !5

166:                                              ; preds = %148
  %167 = getelementptr inbounds nuw i8, ptr %57, i64 24
  %168 = load ptr, ptr %167, align 8
  store ptr %168, ptr %46, align 8
  store i32 %160, ptr %47, align 8
  br label %169

169:                                              ; preds = %166, %148
  %170 = getelementptr inbounds nuw i8, ptr %62, i64 4
  %171 = load i32, ptr %170, align 4
  %172 = icmp eq i32 %171, 0
  br i1 %172, label %224, label %173, !prof !4

173:                                              ; preds = %169
  %174 = load ptr, ptr %8, align 8
  %175 = load ptr, ptr %4, align 8
  %176 = getelementptr inbounds nuw i8, ptr %175, i64 108
  %177 = load i32, ptr %176, align 4
  %178 = zext i32 %177 to i64
  %179 = getelementptr inbounds nuw i8, ptr %174, i64 %178
  %180 = load ptr, ptr %36, align 8
  %181 = ptrtoint ptr %62 to i64
  %182 = ptrtoint ptr %180 to i64
  %183 = sub i64 %181, %182
  %184 = ashr exact i64 %183, 4
  %185 = getelementptr inbounds %struct.tensor, ptr %179, i64 %184
  %186 = getelementptr inbounds nuw i8, ptr %185, i64 16
  store i32 %161, ptr %186, align 8
  %187 = getelementptr inbounds nuw i8, ptr %185, i64 24
  store ptr %162, ptr %187, align 8
  %188 = getelementptr inbounds nuw i8, ptr %185, i64 32
  store ptr %163, ptr %188, align 8
  br label %224

189:                                              ; preds = %139, %120, %145, %108, %104, %77, %88
  %190 = load ptr, ptr %8, align 8
  %191 = load ptr, ptr %4, align 8
  %192 = getelementptr inbounds nuw i8, ptr %191, i64 108
  %193 = load i32, ptr %192, align 4
  %194 = zext i32 %193 to i64
  %195 = getelementptr inbounds nuw i8, ptr %190, i64 %194
  %196 = load ptr, ptr %36, align 8
  %197 = ptrtoint ptr %62 to i64
  %198 = ptrtoint ptr %196 to i64
  %199 = sub i64 %197, %198
  %200 = ashr exact i64 %199, 4
  %201 = getelementptr inbounds %struct.tensor, ptr %195, i64 %200
  %202 = tail call fastcc i32 @read_array(ptr noundef %0, ptr noundef nonnull %81, ptr noundef %201) #17
  %203 = load ptr, ptr %6, align 8
  switch i32 %202, label %466 [
    i32 4, label %204
    i32 0, label %205
  ]

204:                                              ; preds = %189
  store i32 1, ptr %48, align 4
  br label %455

205:                                              ; preds = %189
  %206 = getelementptr inbounds nuw i8, ptr %201, i64 8
  %207 = load i32, ptr %206, align 8
  switch i32 %207, label %466 [
    i32 2, label %208
    i32 13, label %208
  ]

208:                                              ; preds = %205, %205
  %209 = load i64, ptr %201, align 8
  %210 = getelementptr inbounds nuw i8, ptr %201, i64 40
  %211 = load i64, ptr %210, align 8
  %212 = add i64 %211, %209
  %213 = getelementptr inbounds nuw i8, ptr %201, i64 12
  %214 = load i32, ptr %213, align 4
  %215 = getelementptr inbounds nuw i8, ptr %201, i64 16
  %216 = load i32, ptr %215, align 8
  %217 = getelementptr inbounds nuw i8, ptr %201, i64 20
  %218 = load i32, ptr %217, align 4
  %219 = getelementptr inbounds nuw i8, ptr %201, i64 24
  %220 = load ptr, ptr %219, align 8
  %221 = getelementptr inbounds nuw i8, ptr %201, i64 32
  %222 = load ptr, ptr %221, align 8
  %223 = icmp eq i64 %212, 0
  br i1 %223, label %466, label %224

224:                                              ; preds = %208, %169, %173
  %225 = phi ptr [ %220, %208 ], [ %162, %169 ], [ %162, %173 ]
  %226 = phi ptr [ %222, %208 ], [ %163, %169 ], [ %163, %173 ]
  %227 = phi i32 [ %218, %208 ], [ %124, %169 ], [ %124, %173 ]
  %228 = phi i32 [ %216, %208 ], [ %161, %169 ], [ %161, %173 ]
  %229 = phi i32 [ %214, %208 ], [ %160, %169 ], [ %160, %173 ]
  %230 = phi i64 [ %212, %208 ], [ %157, %169 ], [ %157, %173 ]
  %231 = phi ptr [ %203, %208 ], [ %57, %169 ], [ %57, %173 ]
  %232 = zext i32 %229 to i64
  %233 = icmp eq i64 %58, %232
  br i1 %233, label %236, label %234, !prof !4

234:                                              ; preds = %224
  %235 = icmp eq i64 %58, -1
  br i1 %235, label %236, label %466

236:                                              ; preds = %234, %224
  store i64 %230, ptr %59, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %2) #16
  %237 = getelementptr inbounds nuw i8, ptr %83, i64 8
  %238 = load i32, ptr %237, align 8
  store i32 %238, ptr %2, align 4
  %239 = load i32, ptr %83, align 8
  %240 = icmp eq i32 %227, %239
  br i1 %240, label %250, label %241, !prof !4

241:                                              ; preds = %236
  %242 = icmp eq i32 %239, 0
  br i1 %242, label %243, label %453

243:                                              ; preds = %241
  %244 = getelementptr inbounds nuw i8, ptr %83, i64 4
  %245 = load i32, ptr %244, align 4
  %246 = zext i32 %245 to i64
  %247 = getelementptr inbounds nuw i64, ptr %13, i64 %246
  %248 = call fastcc i32 @is_of_variable(ptr noundef %247, i32 noundef %227, ptr noundef %2) #17
  %249 = icmp eq i32 %248, 0
  br i1 %249, label %250, label %453

250:                                              ; preds = %243, %236
  %251 = getelementptr inbounds nuw i8, ptr %83, i64 12
  %252 = load i32, ptr %251, align 4
  %253 = icmp eq i32 %252, 0
  br i1 %253, label %254, label %264, !prof !4

254:                                              ; preds = %250
  %255 = and i64 %230, 15
  %256 = icmp eq i64 %255, 0
  %257 = zext i1 %256 to i8
  store i8 %257, ptr %60, align 1
  br i1 %256, label %269, label %258, !prof !4

258:                                              ; preds = %254
  %259 = load i32, ptr %2, align 4
  %260 = add i32 %259, -1
  %261 = zext i32 %260 to i64
  %262 = and i64 %230, %261
  %263 = icmp eq i64 %262, 0
  br i1 %263, label %269, label %453

264:                                              ; preds = %250
  %265 = add i32 %252, -1
  %266 = zext i32 %265 to i64
  %267 = and i64 %230, %266
  %268 = icmp eq i64 %267, 0
  br i1 %268, label %269, label %453

269:                                              ; preds = %264, %254, %258
  %270 = getelementptr inbounds nuw i8, ptr %83, i64 16
  %271 = load i32, ptr %270, align 8
  %272 = icmp eq i32 %228, %271
  br i1 %272, label %280, label %273, !prof !4

273:                                              ; preds = %269
  %274 = getelementptr inbounds nuw i8, ptr %83, i64 20
  %275 = load i32, ptr %274, align 4
  %276 = icmp eq i32 %275, 3
  br i1 %276, label %277, label %453

277:                                              ; preds = %273
  %278 = tail call fastcc i32 @fit_nested(ptr noundef nonnull %83, i32 noundef %228, ptr noundef %225, ptr noundef %226, ptr noundef %61) #17
  %279 = icmp eq i32 %278, 0
  br i1 %279, label %454, label %453

280:                                              ; preds = %269
  %281 = getelementptr inbounds nuw i8, ptr %83, i64 32
  %282 = load ptr, ptr %281, align 8
  %283 = zext i32 %228 to i64
  %284 = shl nuw nsw i64 %283, 4
  %285 = getelementptr inbounds nuw i8, ptr %282, i64 %284
  %286 = icmp eq i32 %228, 0
  br i1 %286, label %353, label %287

287:                                              ; preds = %280, %334
  %288 = phi ptr [ %345, %334 ], [ %282, %280 ]
  %289 = phi i32 [ %343, %334 ], [ 0, %280 ]
  %290 = phi i64 [ %344, %334 ], [ 1, %280 ]
  %291 = getelementptr inbounds nuw i8, ptr %288, i64 4
  %292 = load i32, ptr %291, align 4
  %293 = zext i32 %292 to i64
  %294 = getelementptr inbounds nuw i64, ptr %225, i64 %293
  %295 = load i64, ptr %294, align 8
  %296 = getelementptr inbounds nuw i8, ptr %288, i64 8
  %297 = load i64, ptr %296, align 8
  %298 = load i32, ptr %288, align 8
  switch i32 %298, label %301 [
    i32 0, label %299
    i32 1, label %302
  ], !prof !36

299:                                              ; preds = %287
  %300 = icmp eq i64 %295, %297
  br i1 %300, label %334, label %453

301:                                              ; preds = %287
  tail call fastcc void @put_off(ptr noundef nonnull %0, ptr noundef nonnull %288, i64 noundef %295, i32 noundef 1) #17
  br label %334

302:                                              ; preds = %287
  %303 = shl i64 %297, 1
  %304 = getelementptr inbounds nuw i8, ptr %21, i64 %303
  %305 = load i8, ptr %304, align 1
  %306 = icmp eq i8 %305, 0
  br i1 %306, label %307, label %330

307:                                              ; preds = %302
  %308 = load ptr, ptr %4, align 8
  %309 = getelementptr inbounds nuw i8, ptr %308, i64 168
  %310 = load ptr, ptr %309, align 8
  %311 = getelementptr inbounds nuw %struct.dim_row, ptr %310, i64 %297
  %312 = load i64, ptr %311, align 8
  %313 = icmp slt i64 %295, %312
  br i1 %313, label %453, label %314

314:                                              ; preds = %307
  %315 = getelementptr inbounds nuw i8, ptr %311, i64 8
  %316 = load i64, ptr %315, align 8
  %317 = icmp sgt i64 %295, %316
  br i1 %317, label %453, label %318

318:                                              ; preds = %314
  %319 = getelementptr inbounds nuw i8, ptr %311, i64 16
  %320 = load i64, ptr %319, align 8
  %321 = icmp sgt i64 %320, 1
  br i1 %321, label %322, label %325

322:                                              ; preds = %318
  %323 = srem i64 %295, %320
  %324 = icmp eq i64 %323, 0
  br i1 %324, label %325, label %453

325:                                              ; preds = %318, %322
  %326 = getelementptr inbounds nuw i64, ptr %17, i64 %297
  store i64 %295, ptr %326, align 8
  store i8 1, ptr %304, align 1
  %327 = icmp sgt i64 %295, 2147418112
  %328 = zext i1 %327 to i8
  %329 = getelementptr inbounds nuw i8, ptr %304, i64 1
  store i8 %328, ptr %329, align 1
  br label %334

330:                                              ; preds = %302
  %331 = getelementptr inbounds nuw i64, ptr %17, i64 %297
  %332 = load i64, ptr %331, align 8
  %333 = icmp eq i64 %332, %295
  br i1 %333, label %334, label %453

334:                                              ; preds = %299, %325, %301, %330
  %335 = load i32, ptr %291, align 4
  %336 = zext i32 %335 to i64
  %337 = getelementptr inbounds nuw i64, ptr %226, i64 %336
  %338 = load i64, ptr %337, align 8
  %339 = icmp ne i64 %338, %290
  %340 = icmp sgt i64 %295, 1
  %341 = and i1 %340, %339
  %342 = zext i1 %341 to i32
  %343 = or i32 %289, %342
  %344 = mul i64 %295, %290
  %345 = getelementptr inbounds nuw i8, ptr %288, i64 16
  %346 = icmp ult ptr %345, %285
  br i1 %346, label %287, label %347, !llvm.loop !37

347:                                              ; preds = %334
  %348 = icmp sgt i64 %344, 1073741824
  %349 = zext i1 %348 to i8
  store i8 %349, ptr %61, align 1
  %350 = getelementptr inbounds nuw i8, ptr %83, i64 20
  %351 = load i32, ptr %350, align 4
  %352 = icmp eq i32 %351, 2
  br i1 %352, label %372, label %357, !prof !5

353:                                              ; preds = %280
  store i8 0, ptr %61, align 1
  %354 = getelementptr inbounds nuw i8, ptr %83, i64 20
  %355 = load i32, ptr %354, align 4
  %356 = icmp eq i32 %355, 2
  br i1 %356, label %372, label %454, !prof !5

357:                                              ; preds = %347
  %358 = icmp eq i32 %343, 0
  br i1 %358, label %454, label %359, !prof !38

359:                                              ; preds = %357
  %360 = load i32, ptr %270, align 8
  %361 = icmp eq i32 %360, 0
  br i1 %361, label %453, label %362

362:                                              ; preds = %359
  %363 = zext i32 %360 to i64
  br label %367

364:                                              ; preds = %367
  %365 = add nuw nsw i64 %368, 1
  %366 = icmp eq i64 %365, %363
  br i1 %366, label %453, label %367, !llvm.loop !39

367:                                              ; preds = %362, %364
  %368 = phi i64 [ 0, %362 ], [ %365, %364 ]
  %369 = getelementptr inbounds nuw i64, ptr %225, i64 %368
  %370 = load i64, ptr %369, align 8
  %371 = icmp eq i64 %370, 0
  br i1 %371, label %454, label %364

372:                                              ; preds = %353, %347
  %373 = phi ptr [ %282, %353 ], [ %345, %347 ]
  %374 = load i32, ptr %270, align 8
  %375 = icmp eq i32 %374, 0
  br i1 %375, label %386, label %376

376:                                              ; preds = %372
  %377 = zext i32 %374 to i64
  br label %378

378:                                              ; preds = %378, %376
  %379 = phi i64 [ 0, %376 ], [ %383, %378 ]
  %380 = getelementptr inbounds nuw i64, ptr %225, i64 %379
  %381 = load i64, ptr %380, align 8
  %382 = icmp eq i64 %381, 0
  %383 = add nuw nsw i64 %379, 1
  %384 = icmp eq i64 %383, %377
  %385 = select i1 %382, i1 true, i1 %384
  br i1 %385, label %386, label %378, !llvm.loop !39

386:                                              ; preds = %378, %372
  %387 = phi i64 [ 0, %372 ], [ %377, %378 ]
  %388 = phi i1 [ false, %372 ], [ %382, %378 ]
  %389 = getelementptr inbounds nuw %struct.rule, ptr %285, i64 %387
  %390 = icmp ult ptr %373, %389
  br i1 %390, label %391, label %454

391:                                              ; preds = %386, %450
  %392 = phi ptr [ %451, %450 ], [ %373, %386 ]
  %393 = getelementptr inbounds nuw i8, ptr %392, i64 4
  %394 = load i32, ptr %393, align 4
  %395 = zext i32 %394 to i64
  %396 = getelementptr inbounds nuw i64, ptr %226, i64 %395
  %397 = load i64, ptr %396, align 8
  br i1 %388, label %406, label %398

398:                                              ; preds = %391
  %399 = getelementptr inbounds nuw i64, ptr %225, i64 %395
  %400 = load i64, ptr %399, align 8
  %401 = icmp sgt i64 %400, 1
  %402 = getelementptr inbounds nuw i8, ptr %392, i64 8
  %403 = load i64, ptr %402, align 8
  %404 = load i32, ptr %392, align 8
  %405 = icmp eq i32 %404, 0
  br i1 %405, label %409, label %412

406:                                              ; preds = %391
  %407 = load i32, ptr %392, align 8
  %408 = icmp eq i32 %407, 0
  br i1 %408, label %450, label %416

409:                                              ; preds = %398
  %410 = icmp ne i64 %397, %403
  %411 = select i1 %401, i1 %410, i1 false
  br i1 %411, label %453, label %450

412:                                              ; preds = %398
  %413 = zext i1 %401 to i32
  %414 = icmp eq i32 %404, 1
  %415 = and i1 %401, %414
  br i1 %415, label %418, label %416, !prof !40

416:                                              ; preds = %406, %412
  %417 = phi i32 [ %413, %412 ], [ 0, %406 ]
  tail call fastcc void @put_off(ptr noundef nonnull %0, ptr noundef nonnull %392, i64 noundef %397, i32 noundef range(i32 0, 2) %417) #17
  br label %450

418:                                              ; preds = %412
  %419 = shl i64 %403, 1
  %420 = getelementptr inbounds nuw i8, ptr %21, i64 %419
  %421 = load i8, ptr %420, align 1
  %422 = icmp eq i8 %421, 0
  br i1 %422, label %427, label %423

423:                                              ; preds = %418
  %424 = getelementptr inbounds nuw i64, ptr %17, i64 %403
  %425 = load i64, ptr %424, align 8
  %426 = icmp eq i64 %425, %397
  br i1 %426, label %450, label %453

427:                                              ; preds = %418
  %428 = load ptr, ptr %4, align 8
  %429 = getelementptr inbounds nuw i8, ptr %428, i64 168
  %430 = load ptr, ptr %429, align 8
  %431 = getelementptr inbounds nuw %struct.dim_row, ptr %430, i64 %403
  %432 = load i64, ptr %431, align 8
  %433 = icmp slt i64 %397, %432
  br i1 %433, label %453, label %434

434:                                              ; preds = %427
  %435 = getelementptr inbounds nuw i8, ptr %431, i64 8
  %436 = load i64, ptr %435, align 8
  %437 = icmp sgt i64 %397, %436
  br i1 %437, label %453, label %438

438:                                              ; preds = %434
  %439 = getelementptr inbounds nuw i8, ptr %431, i64 16
  %440 = load i64, ptr %439, align 8
  %441 = icmp sgt i64 %440, 1
  br i1 %441, label %442, label %445

442:                                              ; preds = %438
  %443 = srem i64 %397, %440
  %444 = icmp eq i64 %443, 0
  br i1 %444, label %445, label %453

445:                                              ; preds = %438, %442
  %446 = getelementptr inbounds nuw i64, ptr %17, i64 %403
  store i64 %397, ptr %446, align 8
  store i8 1, ptr %420, align 1
  %447 = icmp sgt i64 %397, 2147418112
  %448 = zext i1 %447 to i8
  %449 = getelementptr inbounds nuw i8, ptr %420, i64 1
  store i8 %448, ptr %449, align 1
  br label %450

450:                                              ; preds = %409, %423, %406, %445, %416
  %451 = getelementptr inbounds nuw i8, ptr %392, i64 16
  %452 = icmp ult ptr %451, %389
  br i1 %452, label %391, label %454, !llvm.loop !41

453:                                              ; preds = %258, %241, %264, %273, %243, %277, %359, %299, %330, %322, %314, %307, %364, %427, %423, %442, %434, %409
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #16
  br label %466

454:                                              ; preds = %367, %450, %353, %277, %357, %386
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #16
  br label %455

455:                                              ; preds = %454, %204, %66
  %456 = phi i64 [ %58, %66 ], [ %58, %204 ], [ %232, %454 ]
  %457 = phi ptr [ %57, %66 ], [ %203, %204 ], [ %231, %454 ]
  %458 = getelementptr inbounds nuw i8, ptr %62, i64 16
  %459 = getelementptr inbounds nuw i8, ptr %59, i64 8
  %460 = getelementptr inbounds nuw i8, ptr %60, i64 1
  %461 = getelementptr inbounds nuw i8, ptr %61, i64 1
  %462 = icmp ult ptr %458, %42
  br i1 %462, label %56, label %463, !llvm.loop !42

463:                                              ; preds = %455, %35
  %464 = phi i64 [ -1, %35 ], [ %456, %455 ]
  %465 = getelementptr inbounds nuw i8, ptr %13, i64 16
  store i64 %464, ptr %465, align 8
  br label %466

466:                                              ; preds = %208, %205, %189, %234, %453, %463
  %467 = phi i32 [ 0, %463 ], [ 1, %453 ], [ 1, %208 ], [ %202, %189 ], [ 1, %234 ], [ 1, %205 ]
  ret i32 %467
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 5) i32 @read_others(ptr noundef nonnull captures(none) %0, ptr noundef readonly captures(none) %1) unnamed_addr #3 {
  %3 = load ptr, ptr %0, align 8
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr inbounds nuw i8, ptr %5, i64 28
  %7 = load i32, ptr %6, align 4
  %8 = add i32 %7, 2
  %9 = zext i32 %8 to i64
  %10 = alloca ptr, i64 %9, align 16
  %11 = getelementptr inbounds nuw i8, ptr %3, i64 144
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr inbounds nuw i8, ptr %1, i64 12
  %14 = load i32, ptr %13, align 4
  %15 = and i32 %14, 2
  %16 = icmp eq i32 %15, 0
  br i1 %16, label %21, label %17

17:                                               ; preds = %2
  %18 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %19 = load ptr, ptr %18, align 8
  %20 = ptrtoint ptr %19 to i64
  br label %21

21:                                               ; preds = %2, %17
  %22 = phi i64 [ %20, %17 ], [ -1, %2 ]
  %23 = tail call ptr %12(i64 noundef %22) #18
  store ptr %23, ptr %10, align 16
  %24 = load ptr, ptr %11, align 8
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %26 = load ptr, ptr %25, align 8
  %27 = load ptr, ptr %4, align 8
  %28 = getelementptr inbounds nuw i8, ptr %27, i64 108
  %29 = load i32, ptr %28, align 4
  %30 = zext i32 %29 to i64
  %31 = getelementptr inbounds nuw i8, ptr %26, i64 %30
  %32 = ptrtoint ptr %31 to i64
  %33 = tail call ptr %24(i64 noundef %32) #18
  %34 = getelementptr inbounds nuw i8, ptr %10, i64 8
  store ptr %33, ptr %34, align 8
  %35 = icmp eq i32 %7, 0
  br i1 %35, label %44, label %36

36:                                               ; preds = %21
  %37 = load ptr, ptr %4, align 8
  %38 = getelementptr inbounds nuw i8, ptr %37, i64 144
  %39 = getelementptr inbounds nuw i8, ptr %37, i64 124
  %40 = getelementptr inbounds nuw i8, ptr %3, i64 88
  %41 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %42 = zext i32 %7 to i64
  %43 = load ptr, ptr %38, align 8
  br label %60

44:                                               ; preds = %80, %21
  %45 = getelementptr inbounds nuw i8, ptr %3, i64 216
  %46 = load ptr, ptr %45, align 8
  %47 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %48 = load ptr, ptr %47, align 8
  %49 = getelementptr inbounds nuw i8, ptr %48, i64 64
  %50 = load ptr, ptr %49, align 8
  %51 = call ptr %46(ptr noundef %50, ptr noundef nonnull %10, i64 noundef %9, ptr noundef null) #18
  %52 = getelementptr inbounds nuw i8, ptr %0, i64 64
  store ptr %51, ptr %52, align 8
  %53 = getelementptr inbounds nuw i8, ptr %3, i64 184
  %54 = load ptr, ptr %53, align 8
  %55 = load ptr, ptr %10, align 16
  call void %54(ptr noundef %55) #18
  %56 = load ptr, ptr %53, align 8
  %57 = load ptr, ptr %34, align 8
  call void %56(ptr noundef %57) #18
  %58 = load ptr, ptr %52, align 8
  %59 = icmp eq ptr %58, null
  br i1 %59, label %88, label %90

60:                                               ; preds = %36, %80
  %61 = phi i64 [ 0, %36 ], [ %86, %80 ]
  %62 = getelementptr inbounds nuw %struct.array_row, ptr %43, i64 %61
  %63 = getelementptr inbounds nuw i8, ptr %62, i64 2
  %64 = load i16, ptr %63, align 2
  %65 = icmp eq i16 %64, -1
  br i1 %65, label %75, label %66

66:                                               ; preds = %60
  %67 = load ptr, ptr %25, align 8
  %68 = load i32, ptr %39, align 4
  %69 = zext i32 %68 to i64
  %70 = getelementptr inbounds nuw i8, ptr %67, i64 %69
  %71 = zext i16 %64 to i64
  %72 = getelementptr inbounds nuw i8, ptr %70, i64 %71
  %73 = load i8, ptr %72, align 1
  %74 = icmp eq i8 %73, 0
  br i1 %74, label %80, label %75

75:                                               ; preds = %60, %66
  %76 = load ptr, ptr %41, align 8
  %77 = load i16, ptr %62, align 8
  %78 = zext i16 %77 to i64
  %79 = getelementptr inbounds nuw ptr, ptr %76, i64 %78
  br label %80

80:                                               ; preds = %66, %75
  %81 = phi ptr [ %79, %75 ], [ %40, %66 ]
  %82 = load ptr, ptr %81, align 8
  %83 = add nuw i64 %61, 2
  %84 = and i64 %83, 4294967295
  %85 = getelementptr inbounds nuw ptr, ptr %10, i64 %84
  store ptr %82, ptr %85, align 8
  %86 = add nuw nsw i64 %61, 1
  %87 = icmp eq i64 %86, %42
  br i1 %87, label %44, label %60, !llvm.loop !43

88:                                               ; preds = %44
  %89 = call fastcc i32 @failed(ptr noundef nonnull %3) #17
  br label %124

90:                                               ; preds = %44
  %91 = getelementptr inbounds nuw i8, ptr %3, i64 136
  %92 = load ptr, ptr %91, align 8
  %93 = getelementptr inbounds nuw i8, ptr %3, i64 192
  %94 = load ptr, ptr %93, align 8
  %95 = call ptr %94(ptr noundef nonnull %58, i64 noundef 0) #18
  %96 = call ptr %92(ptr noundef %95) #18
  %97 = getelementptr inbounds nuw i8, ptr %0, i64 72
  store ptr %96, ptr %97, align 8
  %98 = getelementptr inbounds nuw i8, ptr %0, i64 56
  store i32 1, ptr %98, align 8
  %99 = getelementptr inbounds nuw i8, ptr %0, i64 60
  store i32 0, ptr %99, align 4
  %100 = load ptr, ptr %4, align 8
  %101 = getelementptr inbounds nuw i8, ptr %100, i64 40
  %102 = load i32, ptr %101, align 8
  %103 = icmp eq i32 %102, 0
  br i1 %103, label %104, label %106

104:                                              ; preds = %106, %90
  %105 = call fastcc i32 @arrays(ptr noundef %0) #17
  br label %124

106:                                              ; preds = %90, %106
  %107 = phi i64 [ %118, %106 ], [ 0, %90 ]
  %108 = phi ptr [ %119, %106 ], [ %100, %90 ]
  %109 = load ptr, ptr %25, align 8
  %110 = getelementptr inbounds nuw i8, ptr %108, i64 116
  %111 = load i32, ptr %110, align 4
  %112 = zext i32 %111 to i64
  %113 = getelementptr inbounds nuw i8, ptr %109, i64 %112
  %114 = shl nuw nsw i64 %107, 1
  %115 = and i64 %114, 4294967294
  %116 = getelementptr inbounds nuw i64, ptr %113, i64 %115
  %117 = getelementptr inbounds nuw i8, ptr %116, i64 8
  store i64 0, ptr %117, align 8
  %118 = add nuw nsw i64 %107, 1
  %119 = load ptr, ptr %4, align 8
  %120 = getelementptr inbounds nuw i8, ptr %119, i64 40
  %121 = load i32, ptr %120, align 8
  %122 = zext i32 %121 to i64
  %123 = icmp samesign ult i64 %118, %122
  br i1 %123, label %106, label %104, !llvm.loop !44

124:                                              ; preds = %104, %88
  %125 = phi i32 [ %105, %104 ], [ %89, %88 ]
  ret i32 %125
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @constants(ptr noundef nonnull readonly captures(none) %0) unnamed_addr #3 {
  %2 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %3 = load ptr, ptr %2, align 8
  %4 = getelementptr inbounds nuw i8, ptr %3, i64 36
  %5 = load i32, ptr %4, align 4
  %6 = icmp eq i32 %5, 0
  br i1 %6, label %103, label %7

7:                                                ; preds = %1
  %8 = load ptr, ptr %0, align 8
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %11 = getelementptr inbounds nuw i8, ptr %8, i64 312
  %12 = getelementptr inbounds nuw i8, ptr %8, i64 88
  %13 = getelementptr inbounds nuw i8, ptr %8, i64 48
  %14 = getelementptr inbounds nuw i8, ptr %8, i64 32
  %15 = getelementptr inbounds nuw i8, ptr %8, i64 40
  %16 = getelementptr inbounds nuw i8, ptr %8, i64 112
  %17 = getelementptr inbounds nuw i8, ptr %8, i64 152
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 160
  br label %19

19:                                               ; preds = %7, %96
  %20 = phi i64 [ 0, %7 ], [ %97, %96 ]
  %21 = phi ptr [ %3, %7 ], [ %98, %96 ]
  %22 = getelementptr inbounds nuw i8, ptr %21, i64 160
  %23 = load ptr, ptr %22, align 8
  %24 = getelementptr inbounds nuw %struct.constant_row, ptr %23, i64 %20
  %25 = getelementptr inbounds nuw i8, ptr %24, i64 2
  %26 = load i16, ptr %25, align 2
  %27 = icmp eq i16 %26, -1
  %28 = load ptr, ptr %9, align 8
  br i1 %27, label %38, label %29

29:                                               ; preds = %19
  %30 = getelementptr inbounds nuw i8, ptr %21, i64 124
  %31 = load i32, ptr %30, align 4
  %32 = zext i32 %31 to i64
  %33 = getelementptr inbounds nuw i8, ptr %28, i64 %32
  %34 = zext i16 %26 to i64
  %35 = getelementptr inbounds nuw i8, ptr %33, i64 %34
  %36 = load i8, ptr %35, align 1
  %37 = icmp eq i8 %36, 0
  br i1 %37, label %96, label %38

38:                                               ; preds = %19, %29
  %39 = load ptr, ptr %10, align 8
  %40 = load i16, ptr %24, align 4
  %41 = zext i16 %40 to i64
  %42 = getelementptr inbounds nuw ptr, ptr %39, i64 %41
  %43 = load ptr, ptr %42, align 8
  %44 = getelementptr inbounds nuw i8, ptr %21, i64 96
  %45 = load i32, ptr %44, align 8
  %46 = zext i32 %45 to i64
  %47 = getelementptr inbounds nuw i8, ptr %28, i64 %46
  %48 = getelementptr inbounds nuw i8, ptr %24, i64 4
  %49 = load i32, ptr %48, align 4
  %50 = zext i32 %49 to i64
  %51 = getelementptr inbounds nuw i64, ptr %47, i64 %50
  %52 = getelementptr inbounds nuw i8, ptr %43, i64 8
  %53 = load ptr, ptr %52, align 8
  %54 = ptrtoint ptr %53 to i64
  store i64 %54, ptr %51, align 8
  %55 = ptrtoint ptr %43 to i64
  %56 = getelementptr inbounds nuw i8, ptr %51, i64 8
  store i64 %55, ptr %56, align 8
  %57 = load ptr, ptr %52, align 8
  %58 = load ptr, ptr %11, align 8
  %59 = icmp eq ptr %57, %58
  br i1 %59, label %96, label %60

60:                                               ; preds = %38
  %61 = load ptr, ptr %12, align 8
  %62 = icmp eq ptr %43, %61
  br i1 %62, label %96, label %63

63:                                               ; preds = %60
  %64 = load ptr, ptr %13, align 8
  %65 = icmp eq ptr %57, %64
  br i1 %65, label %66, label %69

66:                                               ; preds = %63
  %67 = getelementptr inbounds nuw i8, ptr %43, i64 16
  %68 = load i64, ptr %67, align 8
  br label %94

69:                                               ; preds = %63
  %70 = load ptr, ptr %14, align 8
  %71 = icmp eq ptr %57, %70
  br i1 %71, label %72, label %91

72:                                               ; preds = %69
  %73 = getelementptr inbounds nuw i8, ptr %43, i64 16
  %74 = load i64, ptr %73, align 8
  %75 = load i64, ptr %15, align 8
  %76 = icmp eq i64 %74, %75
  br i1 %76, label %77, label %81

77:                                               ; preds = %72
  %78 = getelementptr inbounds nuw i8, ptr %43, i64 24
  %79 = load i32, ptr %78, align 4
  %80 = zext i32 %79 to i64
  br label %94

81:                                               ; preds = %72
  %82 = load ptr, ptr %16, align 8
  %83 = tail call i64 %82(ptr noundef nonnull %43) #18
  %84 = icmp eq i64 %83, -1
  br i1 %84, label %85, label %94

85:                                               ; preds = %81
  %86 = load ptr, ptr %17, align 8
  %87 = tail call ptr %86() #18
  %88 = icmp eq ptr %87, null
  br i1 %88, label %94, label %89

89:                                               ; preds = %85
  %90 = load ptr, ptr %18, align 8
  tail call void %90() #18
  br label %91

91:                                               ; preds = %69, %89
  %92 = tail call fastcc i32 @known_constant(ptr noundef %0, ptr noundef nonnull %43, ptr noundef nonnull %51) #17
  %93 = icmp eq i32 %92, 0
  br i1 %93, label %96, label %103

94:                                               ; preds = %77, %81, %85, %66
  %95 = phi i64 [ %68, %66 ], [ %80, %77 ], [ %83, %81 ], [ -1, %85 ]
  store i64 %95, ptr %56, align 8
  br label %96

96:                                               ; preds = %94, %91, %29, %38, %60
  %97 = add nuw nsw i64 %20, 1
  %98 = load ptr, ptr %2, align 8
  %99 = getelementptr inbounds nuw i8, ptr %98, i64 36
  %100 = load i32, ptr %99, align 4
  %101 = zext i32 %100 to i64
  %102 = icmp samesign ult i64 %97, %101
  br i1 %102, label %19, label %103, !llvm.loop !45

103:                                              ; preds = %96, %91, %1
  %104 = phi i32 [ 0, %1 ], [ %92, %91 ], [ 0, %96 ]
  ret i32 %104
}

; Function Attrs: nofree noinline norecurse nosync nounwind memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define internal fastcc range(i32 0, 2) i32 @unsure_dims(ptr noundef nonnull readonly captures(none) %0) unnamed_addr #5 {
  %2 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %3 = load ptr, ptr %2, align 8
  %4 = getelementptr inbounds nuw i8, ptr %3, i64 40
  %5 = load i32, ptr %4, align 8
  %6 = icmp eq i32 %5, 0
  br i1 %6, label %85, label %7

7:                                                ; preds = %1
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 32
  br label %9

9:                                                ; preds = %7, %78
  %10 = phi ptr [ %3, %7 ], [ %79, %78 ]
  %11 = phi i64 [ 0, %7 ], [ %80, %78 ]
  %12 = load ptr, ptr %8, align 8
  %13 = getelementptr inbounds nuw i8, ptr %10, i64 116
  %14 = load i32, ptr %13, align 4
  %15 = zext i32 %14 to i64
  %16 = getelementptr inbounds nuw i8, ptr %12, i64 %15
  %17 = trunc nuw i64 %11 to i32
  %18 = shl i32 %17, 1
  %19 = zext i32 %18 to i64
  %20 = getelementptr inbounds nuw i64, ptr %16, i64 %19
  %21 = load i64, ptr %20, align 8
  %22 = getelementptr inbounds nuw i8, ptr %10, i64 96
  %23 = load i32, ptr %22, align 8
  %24 = zext i32 %23 to i64
  %25 = getelementptr inbounds nuw i8, ptr %12, i64 %24
  %26 = getelementptr inbounds nuw i8, ptr %10, i64 100
  %27 = load i32, ptr %26, align 4
  %28 = zext i32 %27 to i64
  %29 = getelementptr inbounds nuw i8, ptr %25, i64 %28
  %30 = getelementptr inbounds nuw i8, ptr %29, i64 %19
  %31 = load i8, ptr %30, align 1
  %32 = icmp eq i8 %31, 0
  br i1 %32, label %33, label %78

33:                                               ; preds = %9
  %34 = or disjoint i32 %18, 1
  %35 = zext i32 %34 to i64
  %36 = getelementptr inbounds nuw i64, ptr %16, i64 %35
  %37 = load i64, ptr %36, align 8
  %38 = icmp eq i64 %37, 0
  br i1 %38, label %78, label %39

39:                                               ; preds = %33
  %40 = getelementptr inbounds nuw i8, ptr %10, i64 168
  %41 = load ptr, ptr %40, align 8
  %42 = getelementptr inbounds nuw %struct.dim_row, ptr %41, i64 %11
  %43 = getelementptr inbounds nuw i8, ptr %42, i64 24
  %44 = load i32, ptr %43, align 8
  %45 = icmp eq i32 %44, 0
  br i1 %45, label %64, label %46

46:                                               ; preds = %39
  %47 = load i64, ptr %42, align 8
  %48 = icmp slt i64 %21, %47
  br i1 %48, label %85, label %49

49:                                               ; preds = %46
  %50 = getelementptr inbounds nuw i8, ptr %42, i64 8
  %51 = load i64, ptr %50, align 8
  %52 = icmp sgt i64 %21, %51
  br i1 %52, label %85, label %53

53:                                               ; preds = %49
  %54 = getelementptr inbounds nuw i8, ptr %42, i64 16
  %55 = load i64, ptr %54, align 8
  %56 = icmp sgt i64 %55, 1
  br i1 %56, label %57, label %60

57:                                               ; preds = %53
  %58 = srem i64 %21, %55
  %59 = icmp ne i64 %58, 0
  br label %60

60:                                               ; preds = %53, %57
  %61 = phi i1 [ false, %53 ], [ %59, %57 ]
  %62 = icmp slt i64 %21, -2147483648
  %63 = select i1 %61, i1 true, i1 %62
  br i1 %63, label %85, label %66

64:                                               ; preds = %39
  %65 = icmp slt i64 %21, -2147483648
  br i1 %65, label %85, label %66

66:                                               ; preds = %60, %64
  %67 = getelementptr inbounds nuw i8, ptr %10, i64 60
  %68 = load i32, ptr %67, align 4
  %69 = zext i32 %68 to i64
  %70 = getelementptr inbounds nuw i8, ptr %12, i64 %69
  %71 = getelementptr inbounds nuw i64, ptr %70, i64 %11
  store i64 %21, ptr %71, align 8
  %72 = shl nuw nsw i64 %11, 1
  %73 = getelementptr inbounds nuw i8, ptr %29, i64 %72
  store i8 1, ptr %73, align 1
  %74 = icmp sgt i64 %21, 2147418112
  %75 = zext i1 %74 to i8
  %76 = getelementptr inbounds nuw i8, ptr %73, i64 1
  store i8 %75, ptr %76, align 1
  %77 = load ptr, ptr %2, align 8
  br label %78

78:                                               ; preds = %66, %33, %9
  %79 = phi ptr [ %77, %66 ], [ %10, %33 ], [ %10, %9 ]
  %80 = add nuw nsw i64 %11, 1
  %81 = getelementptr inbounds nuw i8, ptr %79, i64 40
  %82 = load i32, ptr %81, align 8
  %83 = zext i32 %82 to i64
  %84 = icmp samesign ult i64 %80, %83
  br i1 %84, label %9, label %85, !llvm.loop !46

85:                                               ; preds = %60, %64, %78, %49, %46, %1
  %86 = phi i32 [ 0, %1 ], [ 1, %49 ], [ 1, %64 ], [ 0, %78 ], [ 1, %46 ], [ 1, %60 ]
  ret i32 %86
}

; Function Attrs: nofree noinline norecurse nosync nounwind memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define internal fastcc range(i32 0, 2) i32 @agree(ptr noundef nonnull readonly captures(none) %0) unnamed_addr #5 {
  %2 = alloca i64, align 8
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 60
  %4 = load i32, ptr %3, align 4
  %5 = icmp eq i32 %4, 0
  br i1 %5, label %37, label %6

6:                                                ; preds = %1
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr inbounds nuw i8, ptr %10, i64 120
  %12 = load i32, ptr %11, align 8
  %13 = zext i32 %12 to i64
  %14 = getelementptr inbounds nuw i8, ptr %8, i64 %13
  %15 = getelementptr inbounds nuw i8, ptr %10, i64 176
  %16 = load ptr, ptr %15, align 8
  %17 = zext i32 %4 to i64
  br label %18

18:                                               ; preds = %6, %33
  %19 = phi i64 [ 0, %6 ], [ %34, %33 ]
  call void @llvm.lifetime.start.p0(ptr nonnull %2) #16
  %20 = shl nuw i64 %19, 1
  %21 = and i64 %20, 4294967294
  %22 = getelementptr inbounds nuw i64, ptr %14, i64 %21
  %23 = load i64, ptr %22, align 8
  %24 = getelementptr inbounds ptr, ptr %16, i64 %23
  %25 = load ptr, ptr %24, align 8
  %26 = call fastcc i32 @evaluate(ptr noundef %0, ptr noundef %25, ptr noundef %2) #17
  %27 = icmp eq i32 %26, 0
  br i1 %27, label %28, label %36

28:                                               ; preds = %18
  %29 = load i64, ptr %2, align 8
  %30 = getelementptr inbounds nuw i8, ptr %22, i64 8
  %31 = load i64, ptr %30, align 8
  %32 = icmp eq i64 %29, %31
  br i1 %32, label %33, label %36

33:                                               ; preds = %28
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #16
  %34 = add nuw nsw i64 %19, 1
  %35 = icmp eq i64 %34, %17
  br i1 %35, label %37, label %18, !llvm.loop !47

36:                                               ; preds = %28, %18
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #16
  br label %37

37:                                               ; preds = %33, %1, %36
  %38 = phi i32 [ 1, %36 ], [ 0, %1 ], [ 0, %33 ]
  ret i32 %38
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @numbers(ptr noundef nonnull readonly captures(none) %0) unnamed_addr #3 {
  %2 = load ptr, ptr %0, align 8
  %3 = getelementptr inbounds nuw i8, ptr %2, i64 32
  %4 = load ptr, ptr %3, align 8
  %5 = getelementptr inbounds nuw i8, ptr %2, i64 48
  %6 = load ptr, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %2, i64 40
  %8 = load i64, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %14 = load ptr, ptr %13, align 8
  %15 = getelementptr inbounds nuw i8, ptr %14, i64 152
  %16 = load ptr, ptr %15, align 8
  %17 = getelementptr inbounds nuw i8, ptr %14, i64 32
  %18 = load i32, ptr %17, align 8
  %19 = zext i32 %18 to i64
  %20 = mul nuw nsw i64 %19, 20
  %21 = getelementptr inbounds nuw i8, ptr %16, i64 %20
  %22 = icmp eq i32 %18, 0
  br i1 %22, label %64, label %23

23:                                               ; preds = %1, %61
  %24 = phi ptr [ %62, %61 ], [ %16, %1 ]
  %25 = load i16, ptr %24, align 4
  %26 = zext i16 %25 to i64
  %27 = getelementptr inbounds nuw ptr, ptr %12, i64 %26
  %28 = load ptr, ptr %27, align 8
  %29 = getelementptr inbounds nuw i8, ptr %24, i64 8
  %30 = load i32, ptr %29, align 4
  %31 = zext i32 %30 to i64
  %32 = getelementptr inbounds nuw i8, ptr %10, i64 %31
  %33 = getelementptr inbounds nuw i8, ptr %24, i64 4
  %34 = load i32, ptr %33, align 4
  switch i32 %34, label %58 [
    i32 0, label %35
    i32 1, label %47
  ]

35:                                               ; preds = %23
  %36 = getelementptr inbounds nuw i8, ptr %28, i64 8
  %37 = load ptr, ptr %36, align 8
  %38 = icmp eq ptr %37, %4
  br i1 %38, label %39, label %58, !prof !4

39:                                               ; preds = %35
  %40 = getelementptr inbounds nuw i8, ptr %28, i64 16
  %41 = load i64, ptr %40, align 8
  %42 = icmp eq i64 %41, %8
  br i1 %42, label %43, label %58, !prof !4

43:                                               ; preds = %39
  %44 = getelementptr inbounds nuw i8, ptr %28, i64 24
  %45 = load i32, ptr %44, align 4
  %46 = zext i32 %45 to i64
  store i64 %46, ptr %32, align 8
  br label %61

47:                                               ; preds = %23
  %48 = getelementptr inbounds nuw i8, ptr %28, i64 8
  %49 = load ptr, ptr %48, align 8
  %50 = icmp eq ptr %49, %6
  br i1 %50, label %51, label %58, !prof !4

51:                                               ; preds = %47
  %52 = getelementptr inbounds nuw i8, ptr %28, i64 16
  %53 = load i64, ptr %52, align 8
  %54 = bitcast i64 %53 to double
  %55 = fptrunc double %54 to float
  store float %55, ptr %32, align 4
  %56 = and i64 %53, 9223372036586340352
  %57 = icmp samesign ugt i64 %56, 5183643170835005439
  br i1 %57, label %58, label %61

58:                                               ; preds = %35, %23, %47, %51, %39
  %59 = tail call fastcc i32 @other_number(ptr noundef %0, ptr noundef nonnull %24) #17
  %60 = icmp eq i32 %59, 0
  br i1 %60, label %61, label %64, !prof !4

61:                                               ; preds = %51, %58, %43
  %62 = getelementptr inbounds nuw i8, ptr %24, i64 20
  %63 = icmp ult ptr %62, %21
  br i1 %63, label %23, label %64, !llvm.loop !48

64:                                               ; preds = %61, %58, %1
  %65 = phi i32 [ 0, %1 ], [ %59, %58 ], [ 0, %61 ]
  ret i32 %65
}

; Function Attrs: nofree noinline norecurse nosync nounwind memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define internal fastcc range(i32 -1, 2) i32 @grid_of_dims(ptr noundef nonnull readonly captures(none) %0, ptr noundef readonly captures(none) %1, ptr noundef nonnull writeonly captures(none) initializes((0, 56)) %2) unnamed_addr #5 {
  %4 = alloca i64, align 8
  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(56) %2, ptr noundef nonnull align 8 dereferenceable(56) %1, i64 56, i1 false)
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %6 = load ptr, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %6, i64 44
  %8 = load i32, ptr %7, align 4
  %9 = icmp eq i32 %8, 0
  br i1 %9, label %75, label %10

10:                                               ; preds = %3
  %11 = getelementptr inbounds nuw i8, ptr %6, i64 184
  %12 = load ptr, ptr %11, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %4) #16
  %13 = getelementptr inbounds nuw i8, ptr %12, i64 8
  %14 = load i64, ptr %13, align 8
  store i64 %14, ptr %4, align 8
  %15 = load i32, ptr %12, align 8
  %16 = icmp eq i32 %15, 2
  br i1 %16, label %17, label %26

17:                                               ; preds = %10
  %18 = getelementptr inbounds nuw i8, ptr %6, i64 176
  %19 = load ptr, ptr %18, align 8
  %20 = getelementptr inbounds ptr, ptr %19, i64 %14
  %21 = load ptr, ptr %20, align 8
  %22 = call fastcc i32 @evaluate(ptr noundef %0, ptr noundef %21, ptr noundef %4) #17
  %23 = icmp eq i32 %22, 0
  br i1 %23, label %24, label %78

24:                                               ; preds = %17
  %25 = load i64, ptr %4, align 8
  br label %26

26:                                               ; preds = %24, %10
  %27 = phi i64 [ %25, %24 ], [ %14, %10 ]
  %28 = icmp ugt i64 %27, 2147483647
  br i1 %28, label %78, label %29

29:                                               ; preds = %26
  %30 = icmp eq i64 %27, 0
  %31 = trunc nuw nsw i64 %27 to i32
  store i32 %31, ptr %2, align 4
  call void @llvm.lifetime.end.p0(ptr nonnull %4) #16
  %32 = load ptr, ptr %5, align 8
  %33 = getelementptr inbounds nuw i8, ptr %32, i64 44
  %34 = load i32, ptr %33, align 4
  %35 = icmp ugt i32 %34, 1
  br i1 %35, label %36, label %75

36:                                               ; preds = %29
  %37 = zext i1 %30 to i32
  br label %38

38:                                               ; preds = %36, %61
  %39 = phi i64 [ %67, %61 ], [ 1, %36 ]
  %40 = phi ptr [ %68, %61 ], [ %32, %36 ]
  %41 = phi i32 [ %64, %61 ], [ %37, %36 ]
  %42 = getelementptr inbounds nuw i8, ptr %40, i64 184
  %43 = load ptr, ptr %42, align 8
  %44 = getelementptr inbounds nuw %struct.rule, ptr %43, i64 %39
  call void @llvm.lifetime.start.p0(ptr nonnull %4) #16
  %45 = getelementptr inbounds nuw i8, ptr %44, i64 8
  %46 = load i64, ptr %45, align 8
  store i64 %46, ptr %4, align 8
  %47 = load i32, ptr %44, align 8
  %48 = icmp eq i32 %47, 2
  br i1 %48, label %49, label %58

49:                                               ; preds = %38
  %50 = getelementptr inbounds nuw i8, ptr %40, i64 176
  %51 = load ptr, ptr %50, align 8
  %52 = getelementptr inbounds ptr, ptr %51, i64 %46
  %53 = load ptr, ptr %52, align 8
  %54 = call fastcc i32 @evaluate(ptr noundef %0, ptr noundef %53, ptr noundef %4) #17
  %55 = icmp eq i32 %54, 0
  br i1 %55, label %56, label %78

56:                                               ; preds = %49
  %57 = load i64, ptr %4, align 8
  br label %58

58:                                               ; preds = %56, %38
  %59 = phi i64 [ %57, %56 ], [ %46, %38 ]
  %60 = icmp ugt i64 %59, 65535
  br i1 %60, label %78, label %61

61:                                               ; preds = %58
  %62 = icmp eq i64 %59, 0
  %63 = zext i1 %62 to i32
  %64 = or i32 %41, %63
  %65 = trunc nuw nsw i64 %59 to i32
  %66 = getelementptr inbounds nuw i32, ptr %2, i64 %39
  store i32 %65, ptr %66, align 4
  call void @llvm.lifetime.end.p0(ptr nonnull %4) #16
  %67 = add nuw nsw i64 %39, 1
  %68 = load ptr, ptr %5, align 8
  %69 = getelementptr inbounds nuw i8, ptr %68, i64 44
  %70 = load i32, ptr %69, align 4
  %71 = zext i32 %70 to i64
  %72 = icmp samesign ult i64 %67, %71
  br i1 %72, label %38, label %73, !llvm.loop !49

73:                                               ; preds = %61
  %74 = icmp ne i32 %64, 0
  br label %75

75:                                               ; preds = %73, %3, %29
  %76 = phi i1 [ false, %3 ], [ %30, %29 ], [ %74, %73 ]
  %77 = sext i1 %76 to i32
  br label %79

78:                                               ; preds = %49, %58, %26, %17
  call void @llvm.lifetime.end.p0(ptr nonnull %4) #16
  br label %79

79:                                               ; preds = %75, %78
  %80 = phi i32 [ 1, %78 ], [ %77, %75 ]
  ret i32 %80
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @make(ptr noundef nonnull readonly captures(none) %0, ptr noundef readonly captures(none) %1) unnamed_addr #3 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %4 = load ptr, ptr %3, align 8
  %5 = getelementptr inbounds nuw i8, ptr %4, i64 84
  %6 = load i32, ptr %5, align 4
  %7 = zext i32 %6 to i64
  %8 = getelementptr inbounds nuw i8, ptr %1, i64 %7
  %9 = getelementptr inbounds nuw i8, ptr %4, i64 152
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr inbounds nuw i8, ptr %4, i64 32
  %12 = load i32, ptr %11, align 8
  %13 = zext i32 %12 to i64
  %14 = mul nuw nsw i64 %13, 20
  %15 = getelementptr inbounds nuw i8, ptr %10, i64 %14
  %16 = icmp eq i32 %12, 0
  br i1 %16, label %62, label %17

17:                                               ; preds = %2
  %18 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %19 = getelementptr inbounds nuw i8, ptr %0, i64 24
  br label %20

20:                                               ; preds = %17, %57
  %21 = phi ptr [ %10, %17 ], [ %58, %57 ]
  %22 = getelementptr inbounds nuw i8, ptr %21, i64 16
  %23 = load i32, ptr %22, align 4
  %24 = icmp eq i32 %23, 0
  br i1 %24, label %57, label %25

25:                                               ; preds = %20
  %26 = getelementptr inbounds nuw i8, ptr %21, i64 2
  %27 = load i16, ptr %26, align 2
  %28 = icmp eq i16 %27, -1
  %29 = load ptr, ptr %18, align 8
  br i1 %28, label %40, label %30

30:                                               ; preds = %25
  %31 = load ptr, ptr %3, align 8
  %32 = getelementptr inbounds nuw i8, ptr %31, i64 124
  %33 = load i32, ptr %32, align 4
  %34 = zext i32 %33 to i64
  %35 = getelementptr inbounds nuw i8, ptr %29, i64 %34
  %36 = zext i16 %27 to i64
  %37 = getelementptr inbounds nuw i8, ptr %35, i64 %36
  %38 = load i8, ptr %37, align 1
  %39 = icmp eq i8 %38, 0
  br i1 %39, label %57, label %40

40:                                               ; preds = %25, %30
  %41 = load ptr, ptr %19, align 8
  %42 = load i16, ptr %21, align 4
  %43 = zext i16 %42 to i64
  %44 = getelementptr inbounds nuw ptr, ptr %41, i64 %43
  %45 = load ptr, ptr %44, align 8
  %46 = getelementptr inbounds nuw i8, ptr %21, i64 12
  %47 = load i32, ptr %46, align 4
  %48 = zext i32 %47 to i64
  %49 = getelementptr inbounds nuw i32, ptr %8, i64 %48
  %50 = load i32, ptr %49, align 4
  %51 = getelementptr inbounds nuw i8, ptr %21, i64 8
  %52 = load i32, ptr %51, align 4
  %53 = zext i32 %52 to i64
  %54 = getelementptr inbounds nuw i8, ptr %29, i64 %53
  %55 = tail call fastcc i32 @number(ptr noundef %0, ptr noundef %45, i32 noundef %50, ptr noundef %54) #17
  %56 = icmp eq i32 %55, 0
  br i1 %56, label %57, label %241

57:                                               ; preds = %20, %30, %40
  %58 = getelementptr inbounds nuw i8, ptr %21, i64 20
  %59 = icmp ult ptr %58, %15
  br i1 %59, label %20, label %60, !llvm.loop !51

60:                                               ; preds = %57
  %61 = load ptr, ptr %3, align 8
  br label %62

62:                                               ; preds = %60, %2
  %63 = phi ptr [ %61, %60 ], [ %4, %2 ]
  %64 = getelementptr inbounds nuw i8, ptr %63, i64 28
  %65 = load i32, ptr %64, align 4
  %66 = icmp eq i32 %65, 0
  br i1 %66, label %241, label %67

67:                                               ; preds = %62
  %68 = getelementptr inbounds nuw i8, ptr %63, i64 88
  %69 = load i32, ptr %68, align 8
  %70 = zext i32 %69 to i64
  %71 = getelementptr inbounds nuw i8, ptr %1, i64 %70
  %72 = getelementptr inbounds nuw i8, ptr %0, i64 32
  br label %73

73:                                               ; preds = %67, %232
  %74 = phi ptr [ %63, %67 ], [ %233, %232 ]
  %75 = phi ptr [ %63, %67 ], [ %234, %232 ]
  %76 = phi i64 [ 0, %67 ], [ %236, %232 ]
  %77 = phi ptr [ %71, %67 ], [ %235, %232 ]
  %78 = getelementptr inbounds nuw i8, ptr %75, i64 144
  %79 = load ptr, ptr %78, align 8
  %80 = getelementptr inbounds nuw %struct.array_row, ptr %79, i64 %76
  %81 = getelementptr inbounds nuw i8, ptr %80, i64 4
  %82 = load i32, ptr %81, align 4
  %83 = icmp eq i32 %82, 0
  br i1 %83, label %232, label %84

84:                                               ; preds = %73
  %85 = getelementptr inbounds nuw i8, ptr %80, i64 2
  %86 = load i16, ptr %85, align 2
  %87 = icmp eq i16 %86, -1
  %88 = load ptr, ptr %72, align 8
  br i1 %87, label %98, label %89

89:                                               ; preds = %84
  %90 = getelementptr inbounds nuw i8, ptr %75, i64 124
  %91 = load i32, ptr %90, align 4
  %92 = zext i32 %91 to i64
  %93 = getelementptr inbounds nuw i8, ptr %88, i64 %92
  %94 = zext i16 %86 to i64
  %95 = getelementptr inbounds nuw i8, ptr %93, i64 %94
  %96 = load i8, ptr %95, align 1
  %97 = icmp eq i8 %96, 0
  br i1 %97, label %229, label %98

98:                                               ; preds = %84, %89
  %99 = load ptr, ptr %0, align 8
  %100 = load ptr, ptr %77, align 8
  %101 = getelementptr inbounds nuw i8, ptr %75, i64 108
  %102 = load i32, ptr %101, align 4
  %103 = zext i32 %102 to i64
  %104 = getelementptr inbounds nuw i8, ptr %88, i64 %103
  %105 = getelementptr inbounds nuw %struct.tensor, ptr %104, i64 %76
  %106 = getelementptr inbounds nuw i64, ptr %88, i64 %76
  %107 = load i64, ptr %106, align 8
  %108 = zext i32 %82 to i64
  %109 = getelementptr inbounds nuw i8, ptr %88, i64 %108
  %110 = getelementptr inbounds nuw i8, ptr %105, i64 24
  %111 = load ptr, ptr %110, align 8
  %112 = getelementptr inbounds nuw i8, ptr %105, i64 32
  %113 = load ptr, ptr %112, align 8
  %114 = getelementptr inbounds nuw i8, ptr %100, i64 12
  %115 = load i32, ptr %114, align 4
  %116 = icmp eq i32 %115, 0
  br i1 %116, label %117, label %125

117:                                              ; preds = %98
  %118 = getelementptr inbounds nuw i8, ptr %100, i64 128
  %119 = mul i64 %107, 28284495232021
  %120 = lshr i64 %119, 40
  %121 = and i64 %120, 31
  %122 = getelementptr inbounds nuw %struct.map_entry, ptr %118, i64 %121
  %123 = load i64, ptr %122, align 8
  %124 = xor i64 %123, %107
  br label %180

125:                                              ; preds = %98
  %126 = zext i32 %115 to i64
  %127 = and i64 %126, 1
  %128 = icmp eq i32 %115, 1
  br i1 %128, label %133, label %129

129:                                              ; preds = %125
  %130 = and i64 %126, 4294967294
  br label %156

131:                                              ; preds = %156
  %132 = icmp eq i64 %127, 0
  br i1 %132, label %145, label %133

133:                                              ; preds = %131, %125
  %134 = phi i64 [ 0, %125 ], [ %177, %131 ]
  %135 = phi i64 [ %107, %125 ], [ %176, %131 ]
  %136 = icmp ne i64 %127, 0
  tail call void @llvm.assume(i1 %136)
  %137 = mul i64 %135, -7046029254386353131
  %138 = getelementptr inbounds nuw i64, ptr %111, i64 %134
  %139 = load i64, ptr %138, align 8
  %140 = xor i64 %139, %137
  %141 = mul i64 %140, -7046029254386353131
  %142 = getelementptr inbounds nuw i64, ptr %113, i64 %134
  %143 = load i64, ptr %142, align 8
  %144 = xor i64 %141, %143
  br label %145

145:                                              ; preds = %131, %133
  %146 = phi i64 [ %176, %131 ], [ %144, %133 ]
  %147 = getelementptr inbounds nuw i8, ptr %100, i64 128
  %148 = mul i64 %146, 28284495232021
  %149 = lshr i64 %148, 40
  %150 = and i64 %149, 31
  %151 = getelementptr inbounds nuw %struct.map_entry, ptr %147, i64 %150
  %152 = load i64, ptr %151, align 8
  %153 = xor i64 %152, %107
  %154 = getelementptr inbounds nuw i8, ptr %151, i64 8
  %155 = getelementptr inbounds nuw i8, ptr %151, i64 48
  br label %184

156:                                              ; preds = %156, %129
  %157 = phi i64 [ 0, %129 ], [ %177, %156 ]
  %158 = phi i64 [ %107, %129 ], [ %176, %156 ]
  %159 = phi i64 [ 0, %129 ], [ %178, %156 ]
  %160 = mul i64 %158, -7046029254386353131
  %161 = getelementptr inbounds nuw i64, ptr %111, i64 %157
  %162 = load i64, ptr %161, align 8
  %163 = xor i64 %162, %160
  %164 = mul i64 %163, -7046029254386353131
  %165 = getelementptr inbounds nuw i64, ptr %113, i64 %157
  %166 = load i64, ptr %165, align 8
  %167 = xor i64 %164, %166
  %168 = or disjoint i64 %157, 1
  %169 = mul i64 %167, -7046029254386353131
  %170 = getelementptr inbounds nuw i64, ptr %111, i64 %168
  %171 = load i64, ptr %170, align 8
  %172 = xor i64 %171, %169
  %173 = mul i64 %172, -7046029254386353131
  %174 = getelementptr inbounds nuw i64, ptr %113, i64 %168
  %175 = load i64, ptr %174, align 8
  %176 = xor i64 %173, %175
  %177 = add nuw nsw i64 %157, 2
  %178 = add i64 %159, 2
  %179 = icmp eq i64 %178, %130
  br i1 %179, label %131, label %156, !llvm.loop !52

180:                                              ; preds = %184, %117
  %181 = phi ptr [ %122, %117 ], [ %151, %184 ]
  %182 = phi i64 [ %124, %117 ], [ %198, %184 ]
  %183 = icmp eq i64 %182, 0
  br i1 %183, label %204, label %201, !prof !4

184:                                              ; preds = %184, %145
  %185 = phi i64 [ 0, %145 ], [ %199, %184 ]
  %186 = phi i64 [ %153, %145 ], [ %198, %184 ]
  %187 = getelementptr inbounds nuw i64, ptr %111, i64 %185
  %188 = load i64, ptr %187, align 8
  %189 = getelementptr inbounds nuw i64, ptr %154, i64 %185
  %190 = load i64, ptr %189, align 8
  %191 = xor i64 %190, %188
  %192 = getelementptr inbounds nuw i64, ptr %113, i64 %185
  %193 = load i64, ptr %192, align 8
  %194 = getelementptr inbounds nuw i64, ptr %155, i64 %185
  %195 = load i64, ptr %194, align 8
  %196 = xor i64 %195, %193
  %197 = or i64 %191, %186
  %198 = or i64 %197, %196
  %199 = add nuw nsw i64 %185, 1
  %200 = icmp eq i64 %199, %126
  br i1 %200, label %180, label %184, !llvm.loop !53

201:                                              ; preds = %180
  %202 = tail call fastcc i32 @renew(ptr noundef readonly %99, ptr noundef nonnull %100, ptr noundef nonnull readonly %105, i64 noundef %107, ptr noundef nonnull %181) #17
  %203 = icmp eq i32 %202, 0
  br i1 %203, label %204, label %241

204:                                              ; preds = %180, %201
  %205 = getelementptr inbounds nuw i8, ptr %181, i64 128
  %206 = load <2 x i64>, ptr %205, align 8
  %207 = getelementptr inbounds nuw i8, ptr %181, i64 144
  %208 = load <2 x i64>, ptr %207, align 8
  %209 = getelementptr inbounds nuw i8, ptr %181, i64 160
  %210 = load <2 x i64>, ptr %209, align 8
  %211 = getelementptr inbounds nuw i8, ptr %181, i64 176
  %212 = load <2 x i64>, ptr %211, align 8
  %213 = getelementptr inbounds nuw i8, ptr %181, i64 192
  %214 = load <2 x i64>, ptr %213, align 8
  %215 = getelementptr inbounds nuw i8, ptr %181, i64 208
  %216 = load <2 x i64>, ptr %215, align 8
  %217 = getelementptr inbounds nuw i8, ptr %181, i64 224
  %218 = load <2 x i64>, ptr %217, align 8
  %219 = getelementptr inbounds nuw i8, ptr %181, i64 240
  %220 = load <2 x i64>, ptr %219, align 8
  store <2 x i64> %206, ptr %109, align 8
  %221 = getelementptr inbounds nuw i8, ptr %109, i64 16
  store <2 x i64> %208, ptr %221, align 8
  %222 = getelementptr inbounds nuw i8, ptr %109, i64 32
  store <2 x i64> %210, ptr %222, align 8
  %223 = getelementptr inbounds nuw i8, ptr %109, i64 48
  store <2 x i64> %212, ptr %223, align 8
  %224 = getelementptr inbounds nuw i8, ptr %109, i64 64
  store <2 x i64> %214, ptr %224, align 8
  %225 = getelementptr inbounds nuw i8, ptr %109, i64 80
  store <2 x i64> %216, ptr %225, align 8
  %226 = getelementptr inbounds nuw i8, ptr %109, i64 96
  store <2 x i64> %218, ptr %226, align 8
  %227 = getelementptr inbounds nuw i8, ptr %109, i64 112
  store <2 x i64> %220, ptr %227, align 8
  %228 = load ptr, ptr %3, align 8
  br label %229

229:                                              ; preds = %204, %89
  %230 = phi ptr [ %228, %204 ], [ %74, %89 ]
  %231 = getelementptr inbounds nuw i8, ptr %77, i64 8
  br label %232

232:                                              ; preds = %229, %73
  %233 = phi ptr [ %74, %73 ], [ %230, %229 ]
  %234 = phi ptr [ %75, %73 ], [ %230, %229 ]
  %235 = phi ptr [ %77, %73 ], [ %231, %229 ]
  %236 = add nuw nsw i64 %76, 1
  %237 = getelementptr inbounds nuw i8, ptr %234, i64 28
  %238 = load i32, ptr %237, align 4
  %239 = zext i32 %238 to i64
  %240 = icmp samesign ult i64 %236, %239
  br i1 %240, label %73, label %241, !llvm.loop !54

241:                                              ; preds = %40, %201, %232, %62
  %242 = phi i32 [ 1, %201 ], [ 0, %62 ], [ 0, %232 ], [ %55, %40 ]
  ret i32 %242
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 5) i32 @read_array(ptr noundef nonnull captures(none) %0, ptr noundef %1, ptr noundef %2) unnamed_addr #3 {
  %4 = alloca ptr, align 8
  store ptr %1, ptr %4, align 8
  %5 = load ptr, ptr %0, align 8
  %6 = getelementptr inbounds nuw i8, ptr %5, i64 16
  %7 = load ptr, ptr %6, align 8
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %10 = load ptr, ptr %9, align 8
  %11 = icmp eq ptr %8, %10
  br i1 %11, label %35, label %12

12:                                               ; preds = %3
  %13 = tail call fastcc ptr @find_type(ptr noundef nonnull %5, ptr noundef %10) #17
  %14 = icmp eq ptr %13, null
  br i1 %14, label %15, label %32

15:                                               ; preds = %12
  %16 = getelementptr inbounds nuw i8, ptr %5, i64 216
  %17 = load ptr, ptr %16, align 8
  %18 = getelementptr inbounds nuw i8, ptr %5, i64 368
  %19 = load ptr, ptr %18, align 8
  %20 = call ptr %17(ptr noundef %19, ptr noundef nonnull %4, i64 noundef 1, ptr noundef null) #18
  %21 = icmp eq ptr %20, null
  br i1 %21, label %22, label %24

22:                                               ; preds = %15
  %23 = call fastcc i32 @failed(ptr noundef nonnull %5) #17
  br label %188

24:                                               ; preds = %15
  %25 = getelementptr inbounds nuw i8, ptr %5, i64 184
  %26 = load ptr, ptr %25, align 8
  call void %26(ptr noundef nonnull %20) #18
  %27 = load ptr, ptr %4, align 8
  %28 = getelementptr inbounds nuw i8, ptr %27, i64 8
  %29 = load ptr, ptr %28, align 8
  %30 = call fastcc ptr @find_type(ptr noundef nonnull %5, ptr noundef %29) #17
  %31 = icmp eq ptr %30, null
  br i1 %31, label %188, label %32

32:                                               ; preds = %24, %12
  %33 = phi ptr [ %1, %12 ], [ %27, %24 ]
  %34 = phi ptr [ %13, %12 ], [ %30, %24 ]
  store ptr %34, ptr %6, align 8
  br label %35

35:                                               ; preds = %32, %3
  %36 = phi ptr [ %33, %32 ], [ %1, %3 ]
  %37 = phi ptr [ %34, %32 ], [ %7, %3 ]
  %38 = getelementptr inbounds nuw i8, ptr %37, i64 8
  %39 = load i64, ptr %38, align 8
  switch i64 %39, label %188 [
    i64 4, label %40
    i64 3, label %45
    i64 6, label %76
    i64 1, label %156
    i64 2, label %156
  ]

40:                                               ; preds = %35
  %41 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %42 = load i32, ptr %41, align 8
  %43 = icmp eq i32 %42, 0
  %44 = select i1 %43, i32 4, i32 0
  br label %188

45:                                               ; preds = %35
  %46 = getelementptr inbounds nuw i8, ptr %5, i64 232
  %47 = load ptr, ptr %46, align 8
  %48 = getelementptr inbounds nuw i8, ptr %5, i64 344
  %49 = load ptr, ptr %48, align 8
  %50 = call ptr %47(ptr noundef nonnull %36, ptr noundef %49) #18
  %51 = icmp eq ptr %50, null
  br i1 %51, label %52, label %54

52:                                               ; preds = %45
  %53 = call fastcc i32 @failed(ptr noundef nonnull %5) #17
  br label %188

54:                                               ; preds = %45
  %55 = getelementptr inbounds nuw i8, ptr %5, i64 136
  %56 = load ptr, ptr %55, align 8
  %57 = call ptr %56(ptr noundef nonnull %50) #18
  %58 = getelementptr inbounds nuw i8, ptr %5, i64 184
  %59 = load ptr, ptr %58, align 8
  call void %59(ptr noundef nonnull %50) #18
  %60 = load i64, ptr %57, align 8
  store i64 %60, ptr %2, align 8
  %61 = getelementptr inbounds nuw i8, ptr %57, i64 8
  %62 = load i64, ptr %61, align 8
  %63 = getelementptr inbounds nuw i8, ptr %2, i64 8
  store i64 %62, ptr %63, align 8
  %64 = getelementptr inbounds nuw i8, ptr %57, i64 16
  %65 = load i64, ptr %64, align 8
  %66 = getelementptr inbounds nuw i8, ptr %2, i64 16
  store i64 %65, ptr %66, align 8
  %67 = getelementptr inbounds nuw i8, ptr %57, i64 24
  %68 = load i64, ptr %67, align 8
  %69 = getelementptr inbounds nuw i8, ptr %2, i64 24
  store i64 %68, ptr %69, align 8
  %70 = getelementptr inbounds nuw i8, ptr %57, i64 32
  %71 = load i64, ptr %70, align 8
  %72 = getelementptr inbounds nuw i8, ptr %2, i64 32
  store i64 %71, ptr %72, align 8
  %73 = getelementptr inbounds nuw i8, ptr %57, i64 40
  %74 = load i64, ptr %73, align 8
  %75 = getelementptr inbounds nuw i8, ptr %2, i64 40
  store i64 %74, ptr %75, align 8
  br label %188

76:                                               ; preds = %35
  %77 = getelementptr inbounds nuw i8, ptr %5, i64 24
  %78 = load ptr, ptr %77, align 8
  %79 = load i64, ptr %78, align 8
  %80 = getelementptr inbounds nuw i8, ptr %36, i64 %79
  %81 = load ptr, ptr %80, align 8
  %82 = getelementptr inbounds nuw i8, ptr %78, i64 8
  %83 = load i64, ptr %82, align 8
  %84 = getelementptr inbounds nuw i8, ptr %81, i64 %83
  %85 = load i64, ptr %84, align 8
  %86 = getelementptr inbounds nuw i8, ptr %78, i64 72
  %87 = load i64, ptr %86, align 8
  %88 = icmp eq i64 %85, %87
  br i1 %88, label %93, label %89

89:                                               ; preds = %76
  %90 = getelementptr inbounds nuw i8, ptr %78, i64 80
  %91 = load i64, ptr %90, align 8
  %92 = icmp eq i64 %85, %91
  br i1 %92, label %93, label %156, !prof !4

93:                                               ; preds = %89, %76
  %94 = getelementptr inbounds nuw i8, ptr %78, i64 16
  %95 = load i64, ptr %94, align 8
  %96 = getelementptr inbounds nuw i8, ptr %81, i64 %95
  %97 = load i64, ptr %96, align 8
  %98 = getelementptr inbounds nuw i8, ptr %78, i64 48
  %99 = load i64, ptr %98, align 8
  %100 = getelementptr inbounds nuw i8, ptr %81, i64 %99
  %101 = load i16, ptr %100, align 2
  %102 = icmp ugt i64 %97, 5
  %103 = icmp ugt i16 %101, 63
  %104 = select i1 %102, i1 true, i1 %103, !prof !5
  br i1 %104, label %156, label %105, !prof !5

105:                                              ; preds = %93
  %106 = zext nneg i16 %101 to i64
  %107 = getelementptr inbounds nuw i8, ptr %78, i64 88
  %108 = getelementptr inbounds nuw i32, ptr %107, i64 %106
  %109 = load i32, ptr %108, align 4
  %110 = getelementptr inbounds nuw i8, ptr %78, i64 32
  %111 = load i64, ptr %110, align 8
  %112 = getelementptr inbounds nuw i8, ptr %81, i64 %111
  %113 = load ptr, ptr %112, align 8
  %114 = getelementptr inbounds nuw i8, ptr %78, i64 56
  %115 = load i64, ptr %114, align 8
  %116 = getelementptr inbounds nuw i8, ptr %113, i64 %115
  %117 = load i64, ptr %116, align 8
  %118 = getelementptr inbounds nuw i8, ptr %78, i64 40
  %119 = load i64, ptr %118, align 8
  %120 = getelementptr inbounds nuw i8, ptr %81, i64 %119
  %121 = icmp ne i32 %109, 0
  %122 = icmp ne i64 %117, 0
  %123 = select i1 %121, i1 %122, i1 false, !prof !35
  br i1 %123, label %124, label %156, !prof !35

124:                                              ; preds = %105
  %125 = getelementptr inbounds nuw i8, ptr %78, i64 64
  %126 = load i64, ptr %125, align 8
  %127 = getelementptr inbounds nuw i8, ptr %113, i64 %126
  %128 = load i64, ptr %127, align 8
  %129 = icmp eq i64 %117, %128
  br i1 %129, label %130, label %156, !prof !4

130:                                              ; preds = %124
  %131 = load i8, ptr %120, align 1
  %132 = icmp eq i8 %131, 1
  br i1 %132, label %133, label %156, !prof !4

133:                                              ; preds = %130
  %134 = getelementptr inbounds nuw i8, ptr %78, i64 24
  %135 = load i64, ptr %134, align 8
  %136 = getelementptr inbounds nuw i8, ptr %81, i64 %135
  %137 = load i64, ptr %136, align 8
  %138 = lshr i32 %109, 11
  %139 = and i32 %138, 31
  %140 = zext nneg i32 %139 to i64
  %141 = mul i64 %137, %140
  %142 = add i64 %141, %117
  %143 = getelementptr inbounds nuw i8, ptr %120, i64 1
  %144 = load i8, ptr %143, align 1
  %145 = zext i8 %144 to i32
  %146 = trunc nuw nsw i64 %97 to i32
  %147 = getelementptr inbounds nuw i8, ptr %96, i64 8
  %148 = getelementptr inbounds nuw i8, ptr %96, i64 48
  store i64 %142, ptr %2, align 8
  %149 = getelementptr inbounds nuw i8, ptr %2, i64 8
  store i32 2, ptr %149, align 8
  %150 = getelementptr inbounds nuw i8, ptr %2, i64 12
  store i32 %145, ptr %150, align 4
  %151 = getelementptr inbounds nuw i8, ptr %2, i64 40
  store i64 0, ptr %151, align 8
  %152 = getelementptr inbounds nuw i8, ptr %2, i64 20
  store i32 %109, ptr %152, align 4
  %153 = getelementptr inbounds nuw i8, ptr %2, i64 16
  store i32 %146, ptr %153, align 8
  %154 = getelementptr inbounds nuw i8, ptr %2, i64 24
  store ptr %147, ptr %154, align 8
  %155 = getelementptr inbounds nuw i8, ptr %2, i64 32
  store ptr %148, ptr %155, align 8
  br label %178

156:                                              ; preds = %35, %35, %124, %105, %130, %93, %89
  %157 = getelementptr inbounds nuw i8, ptr %2, i64 32
  store ptr null, ptr %157, align 8
  %158 = getelementptr inbounds nuw i8, ptr %37, i64 16
  %159 = load ptr, ptr %158, align 8
  %160 = call i32 %159(ptr noundef nonnull %36, ptr noundef %2) #18
  %161 = icmp eq i32 %160, 0
  br i1 %161, label %164, label %162

162:                                              ; preds = %156
  %163 = call fastcc i32 @failed(ptr noundef nonnull %5) #17
  br label %188

164:                                              ; preds = %156
  %165 = load ptr, ptr %157, align 8
  %166 = icmp eq ptr %165, null
  br i1 %166, label %167, label %171

167:                                              ; preds = %164
  %168 = getelementptr inbounds nuw i8, ptr %2, i64 16
  %169 = load i32, ptr %168, align 8
  %170 = icmp eq i32 %169, 0
  br i1 %170, label %171, label %188

171:                                              ; preds = %167, %164
  %172 = load i64, ptr %38, align 8
  %173 = icmp eq i64 %172, 1
  br i1 %173, label %178, label %174

174:                                              ; preds = %171
  %175 = load ptr, ptr %4, align 8
  %176 = call fastcc i32 @never_negated(ptr noundef nonnull %5, ptr noundef %175, ptr noundef nonnull %2) #17
  %177 = icmp eq i32 %176, 0
  br i1 %177, label %178, label %188

178:                                              ; preds = %171, %174, %133
  %179 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %180 = load ptr, ptr %179, align 8
  %181 = icmp eq ptr %180, null
  br i1 %181, label %182, label %188

182:                                              ; preds = %178
  %183 = getelementptr inbounds nuw i8, ptr %37, i64 24
  %184 = load ptr, ptr %183, align 8
  store ptr %184, ptr %179, align 8
  %185 = getelementptr inbounds nuw i8, ptr %2, i64 12
  %186 = load i32, ptr %185, align 4
  %187 = getelementptr inbounds nuw i8, ptr %0, i64 48
  store i32 %186, ptr %187, align 8
  br label %188

188:                                              ; preds = %54, %35, %162, %174, %167, %182, %178, %22, %52, %24, %40
  %189 = phi i32 [ %44, %40 ], [ 1, %24 ], [ 0, %178 ], [ %23, %22 ], [ %53, %52 ], [ 1, %35 ], [ 1, %167 ], [ %163, %162 ], [ %176, %174 ], [ 0, %182 ], [ 0, %54 ]
  ret i32 %189
}

; Function Attrs: mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite)
declare void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly captures(none), ptr noalias readonly captures(none), i64, i1 immarg) #6

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define internal fastcc range(i32 0, 2) i32 @is_of_variable(ptr noundef captures(none) %0, i32 noundef %1, ptr noundef nonnull writeonly captures(none) %2) unnamed_addr #7 {
  %4 = load i64, ptr %0, align 8
  %5 = zext i32 %1 to i64
  %6 = icmp eq i64 %4, %5
  %7 = icmp eq i64 %4, 0
  %8 = or i1 %6, %7
  br i1 %8, label %9, label %12

9:                                                ; preds = %3
  store i64 %5, ptr %0, align 8
  %10 = lshr i32 %1, 11
  %11 = and i32 %10, 31
  store i32 %11, ptr %2, align 4
  br label %12

12:                                               ; preds = %3, %9
  %13 = phi i32 [ 0, %9 ], [ 1, %3 ]
  ret i32 %13
}

; Function Attrs: nofree noinline norecurse nosync nounwind memory(argmem: readwrite)
define internal fastcc range(i32 0, 2) i32 @fit_nested(ptr noundef readonly captures(none) %0, i32 noundef %1, ptr noundef readonly captures(none) %2, ptr noundef readonly captures(none) %3, ptr noundef writeonly captures(none) %4) unnamed_addr #8 {
  %6 = icmp eq i32 %1, 0
  br i1 %6, label %39, label %7

7:                                                ; preds = %5
  %8 = zext i32 %1 to i64
  %9 = and i64 %8, 3
  %10 = icmp ult i32 %1, 4
  br i1 %10, label %15, label %11

11:                                               ; preds = %7
  %12 = and i64 %8, 4294967292
  br label %51

13:                                               ; preds = %51
  %14 = icmp eq i64 %9, 0
  br i1 %14, label %35, label %15

15:                                               ; preds = %13, %7
  %16 = phi i64 [ %8, %7 ], [ %77, %13 ]
  %17 = phi i32 [ 1, %7 ], [ %84, %13 ]
  %18 = phi i64 [ 1, %7 ], [ %87, %13 ]
  %19 = icmp ne i64 %9, 0
  tail call void @llvm.assume(i1 %19)
  br label %20

20:                                               ; preds = %20, %15
  %21 = phi i64 [ %16, %15 ], [ %25, %20 ]
  %22 = phi i32 [ %17, %15 ], [ %29, %20 ]
  %23 = phi i64 [ %18, %15 ], [ %32, %20 ]
  %24 = phi i64 [ 0, %15 ], [ %33, %20 ]
  %25 = add nsw i64 %21, -1
  %26 = getelementptr inbounds nuw i64, ptr %3, i64 %25
  %27 = load i64, ptr %26, align 8
  %28 = icmp eq i64 %27, %23
  %29 = select i1 %28, i32 %22, i32 0
  %30 = getelementptr inbounds nuw i64, ptr %2, i64 %25
  %31 = load i64, ptr %30, align 8
  %32 = mul nsw i64 %31, %23
  %33 = add i64 %24, 1
  %34 = icmp eq i64 %33, %9
  br i1 %34, label %35, label %20, !llvm.loop !55

35:                                               ; preds = %20, %13
  %36 = phi i32 [ %84, %13 ], [ %29, %20 ]
  %37 = phi i64 [ %87, %13 ], [ %32, %20 ]
  %38 = icmp eq i32 %36, 0
  br label %39

39:                                               ; preds = %35, %5
  %40 = phi i64 [ 1, %5 ], [ %37, %35 ]
  %41 = phi i1 [ false, %5 ], [ %38, %35 ]
  %42 = icmp sgt i64 %40, 1073741824
  %43 = zext i1 %42 to i8
  store i8 %43, ptr %4, align 1
  %44 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %45 = load i64, ptr %44, align 8
  %46 = icmp slt i64 %40, %45
  %47 = icmp sgt i64 %40, 1
  %48 = select i1 %47, i1 %41, i1 false
  %49 = select i1 %46, i1 true, i1 %48
  %50 = zext i1 %49 to i32
  ret i32 %50

51:                                               ; preds = %51, %11
  %52 = phi i64 [ %8, %11 ], [ %77, %51 ]
  %53 = phi i32 [ 1, %11 ], [ %84, %51 ]
  %54 = phi i64 [ 1, %11 ], [ %87, %51 ]
  %55 = phi i64 [ 0, %11 ], [ %88, %51 ]
  %56 = add nsw i64 %52, -1
  %57 = getelementptr inbounds nuw i64, ptr %3, i64 %56
  %58 = load i64, ptr %57, align 8
  %59 = icmp eq i64 %58, %54
  %60 = getelementptr inbounds nuw i64, ptr %2, i64 %56
  %61 = load i64, ptr %60, align 8
  %62 = mul nsw i64 %61, %54
  %63 = add nsw i64 %52, -2
  %64 = getelementptr inbounds nuw i64, ptr %3, i64 %63
  %65 = load i64, ptr %64, align 8
  %66 = icmp eq i64 %65, %62
  %67 = getelementptr inbounds nuw i64, ptr %2, i64 %63
  %68 = load i64, ptr %67, align 8
  %69 = mul nsw i64 %68, %62
  %70 = add nsw i64 %52, -3
  %71 = getelementptr inbounds nuw i64, ptr %3, i64 %70
  %72 = load i64, ptr %71, align 8
  %73 = icmp eq i64 %72, %69
  %74 = getelementptr inbounds nuw i64, ptr %2, i64 %70
  %75 = load i64, ptr %74, align 8
  %76 = mul nsw i64 %75, %69
  %77 = add nsw i64 %52, -4
  %78 = getelementptr inbounds nuw i64, ptr %3, i64 %77
  %79 = load i64, ptr %78, align 8
  %80 = icmp eq i64 %79, %76
  %81 = select i1 %80, i1 %73, i1 false
  %82 = select i1 %81, i1 %66, i1 false
  %83 = select i1 %82, i1 %59, i1 false
  %84 = select i1 %83, i32 %53, i32 0
  %85 = getelementptr inbounds nuw i64, ptr %2, i64 %77
  %86 = load i64, ptr %85, align 8
  %87 = mul nsw i64 %86, %76
  %88 = add i64 %55, 4
  %89 = icmp eq i64 %88, %12
  br i1 %89, label %13, label %51, !llvm.loop !56
}

; Function Attrs: nofree noinline norecurse nosync nounwind memory(read, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define internal fastcc ptr @find_type(ptr noundef readonly captures(none) %0, ptr noundef %1) unnamed_addr #9 {
  %3 = ptrtoint ptr %1 to i64
  %4 = lshr i64 %3, 4
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 352
  %6 = load ptr, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 360
  %8 = load i64, ptr %7, align 8
  br label %9

9:                                                ; preds = %9, %2
  %10 = phi i64 [ %4, %2 ], [ %20, %9 ]
  %11 = phi ptr [ undef, %2 ], [ %18, %9 ]
  %12 = and i64 %8, %10
  %13 = getelementptr inbounds nuw %struct.type_entry, ptr %6, i64 %12
  %14 = load ptr, ptr %13, align 8
  %15 = icmp ne ptr %14, %1
  %16 = icmp ne ptr %14, null
  %17 = select i1 %16, ptr %11, ptr null
  %18 = select i1 %15, ptr %17, ptr %13
  %19 = and i1 %15, %16
  %20 = add i64 %10, 1
  br i1 %19, label %9, label %21

21:                                               ; preds = %9
  ret ptr %18
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @never_negated(ptr noundef readonly captures(none) %0, ptr noundef %1, ptr noundef readonly captures(none) %2) unnamed_addr #3 {
  %4 = alloca ptr, align 8
  store ptr %1, ptr %4, align 8
  %5 = getelementptr inbounds nuw i8, ptr %2, i64 16
  %6 = load i32, ptr %5, align 8
  %7 = icmp eq i32 %6, 0
  br i1 %7, label %26, label %8

8:                                                ; preds = %3
  %9 = getelementptr inbounds nuw i8, ptr %2, i64 24
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr inbounds nuw i8, ptr %2, i64 32
  %12 = zext i32 %6 to i64
  br label %13

13:                                               ; preds = %8, %24
  %14 = phi i64 [ %12, %8 ], [ %15, %24 ]
  %15 = add nsw i64 %14, -1
  %16 = getelementptr inbounds nuw i64, ptr %10, i64 %15
  %17 = load i64, ptr %16, align 8
  %18 = icmp sgt i64 %17, 1
  br i1 %18, label %19, label %24

19:                                               ; preds = %13
  %20 = load ptr, ptr %11, align 8
  %21 = getelementptr inbounds nuw i64, ptr %20, i64 %15
  %22 = load i64, ptr %21, align 8
  %23 = icmp eq i64 %22, 1
  br i1 %23, label %42, label %24

24:                                               ; preds = %19, %13
  %25 = icmp eq i64 %15, 0
  br i1 %25, label %26, label %13, !llvm.loop !57

26:                                               ; preds = %24, %3
  %27 = getelementptr inbounds nuw i8, ptr %0, i64 224
  %28 = load ptr, ptr %27, align 8
  %29 = getelementptr inbounds nuw i8, ptr %0, i64 336
  %30 = load ptr, ptr %29, align 8
  %31 = call ptr %28(ptr noundef %30, ptr noundef nonnull %4, i64 noundef 1, ptr noundef null) #18
  %32 = icmp eq ptr %31, null
  br i1 %32, label %33, label %35

33:                                               ; preds = %26
  %34 = call fastcc i32 @failed(ptr noundef nonnull %0) #17
  br label %42

35:                                               ; preds = %26
  %36 = getelementptr inbounds nuw i8, ptr %0, i64 184
  %37 = load ptr, ptr %36, align 8
  call void %37(ptr noundef nonnull %31) #18
  %38 = getelementptr inbounds nuw i8, ptr %0, i64 304
  %39 = load ptr, ptr %38, align 8
  %40 = icmp ne ptr %31, %39
  %41 = zext i1 %40 to i32
  br label %42

42:                                               ; preds = %19, %33, %35
  %43 = phi i32 [ %34, %33 ], [ %41, %35 ], [ 0, %19 ]
  ret i32 %43
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define internal fastcc void @put_off(ptr noundef nonnull captures(none) %0, ptr noundef readonly captures(none) %1, i64 noundef %2, i32 noundef range(i32 0, 2) %3) unnamed_addr #10 {
  %5 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr inbounds nuw i8, ptr %10, i64 116
  %12 = load i32, ptr %11, align 4
  %13 = zext i32 %12 to i64
  %14 = getelementptr inbounds nuw i8, ptr %8, i64 %13
  %15 = shl i64 %6, 4
  %16 = getelementptr inbounds nuw i8, ptr %14, i64 %15
  %17 = load i32, ptr %1, align 8
  %18 = icmp eq i32 %17, 2
  %19 = icmp ne i32 %3, 0
  %20 = and i1 %19, %18
  br i1 %20, label %21, label %37

21:                                               ; preds = %4
  %22 = getelementptr inbounds nuw i8, ptr %10, i64 120
  %23 = load i32, ptr %22, align 8
  %24 = zext i32 %23 to i64
  %25 = getelementptr inbounds nuw i8, ptr %8, i64 %24
  %26 = getelementptr inbounds nuw i8, ptr %0, i64 60
  %27 = load i32, ptr %26, align 4
  %28 = shl i32 %27, 1
  %29 = zext i32 %28 to i64
  %30 = getelementptr inbounds nuw i64, ptr %25, i64 %29
  store i64 %6, ptr %30, align 8
  %31 = load i32, ptr %26, align 4
  %32 = add i32 %31, 1
  store i32 %32, ptr %26, align 4
  %33 = shl i32 %31, 1
  %34 = or disjoint i32 %33, 1
  %35 = zext i32 %34 to i64
  %36 = getelementptr inbounds nuw i64, ptr %25, i64 %35
  store i64 %2, ptr %36, align 8
  br label %44

37:                                               ; preds = %4
  %38 = icmp eq i32 %17, 1
  br i1 %38, label %39, label %44

39:                                               ; preds = %37
  %40 = getelementptr inbounds nuw i8, ptr %16, i64 8
  %41 = load i64, ptr %40, align 8
  %42 = icmp eq i64 %41, 0
  br i1 %42, label %43, label %44

43:                                               ; preds = %39
  store i64 %2, ptr %16, align 8
  store i64 1, ptr %40, align 8
  br label %44

44:                                               ; preds = %37, %39, %43, %21
  ret void
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @known_constant(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, ptr noundef writeonly captures(none) initializes((0, 8)) %2) unnamed_addr #3 {
  %4 = alloca ptr, align 8
  store ptr %1, ptr %4, align 8
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %6 = load ptr, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %6, i64 32
  %8 = load ptr, ptr %7, align 8
  store i64 0, ptr %2, align 8
  %9 = ptrtoint ptr %1 to i64
  %10 = lshr i64 %9, 4
  %11 = shl nuw nsw i64 %10, 1
  %12 = and i64 %11, 510
  %13 = getelementptr inbounds nuw i64, ptr %8, i64 %12
  %14 = load i64, ptr %13, align 8
  %15 = icmp eq i64 %14, %9
  br i1 %15, label %23, label %29

16:                                               ; preds = %29
  %17 = add i64 %31, 1
  %18 = shl i64 %17, 1
  %19 = and i64 %18, 510
  %20 = getelementptr inbounds nuw i64, ptr %8, i64 %19
  %21 = load i64, ptr %20, align 8
  %22 = icmp eq i64 %21, %9
  br i1 %22, label %23, label %29

23:                                               ; preds = %16, %3
  %24 = phi i64 [ %12, %3 ], [ %19, %16 ]
  %25 = getelementptr inbounds nuw i64, ptr %8, i64 %24
  %26 = getelementptr inbounds nuw i8, ptr %25, i64 8
  %27 = load i64, ptr %26, align 8
  %28 = getelementptr inbounds nuw i8, ptr %2, i64 8
  store i64 %27, ptr %28, align 8
  br label %53

29:                                               ; preds = %3, %16
  %30 = phi i64 [ %21, %16 ], [ %14, %3 ]
  %31 = phi i64 [ %17, %16 ], [ %10, %3 ]
  %32 = icmp eq i64 %30, 0
  br i1 %32, label %33, label %16

33:                                               ; preds = %29
  %34 = load ptr, ptr %0, align 8
  %35 = getelementptr inbounds nuw i8, ptr %34, i64 216
  %36 = load ptr, ptr %35, align 8
  %37 = load ptr, ptr %5, align 8
  %38 = getelementptr inbounds nuw i8, ptr %37, i64 56
  %39 = load ptr, ptr %38, align 8
  %40 = call ptr %36(ptr noundef %39, ptr noundef nonnull %4, i64 noundef 1, ptr noundef null) #18
  %41 = icmp eq ptr %40, null
  %42 = load ptr, ptr %0, align 8
  br i1 %41, label %43, label %45

43:                                               ; preds = %33
  %44 = call fastcc i32 @failed(ptr noundef %42) #17
  br label %53

45:                                               ; preds = %33
  %46 = getelementptr inbounds nuw i8, ptr %42, i64 112
  %47 = load ptr, ptr %46, align 8
  %48 = call i64 %47(ptr noundef nonnull %40) #18
  %49 = getelementptr inbounds nuw i8, ptr %2, i64 8
  store i64 %48, ptr %49, align 8
  %50 = load ptr, ptr %0, align 8
  %51 = getelementptr inbounds nuw i8, ptr %50, i64 184
  %52 = load ptr, ptr %51, align 8
  call void %52(ptr noundef nonnull %40) #18
  br label %53

53:                                               ; preds = %23, %43, %45
  %54 = phi i32 [ 0, %23 ], [ 0, %45 ], [ %44, %43 ]
  ret i32 %54
}

; Function Attrs: nofree noinline norecurse nosync nounwind memory(read, argmem: readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define internal fastcc range(i32 0, 2) i32 @evaluate(ptr noundef nonnull readonly captures(none) %0, ptr noundef readonly captures(none) %1, ptr noundef nonnull writeonly captures(none) %2) unnamed_addr #11 {
  %4 = alloca [16 x i64], align 16
  call void @llvm.lifetime.start.p0(ptr nonnull %4) #16
  %5 = getelementptr inbounds i8, ptr %4, i64 -8
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 16
  br label %8

8:                                                ; preds = %68, %3
  %9 = phi i64 [ undef, %3 ], [ %69, %68 ]
  %10 = phi ptr [ %5, %3 ], [ %70, %68 ]
  %11 = phi ptr [ %1, %3 ], [ %71, %68 ]
  %12 = load i64, ptr %11, align 8
  switch i64 %12, label %42 [
    i64 0, label %72
    i64 1, label %13
    i64 2, label %17
  ]

13:                                               ; preds = %8
  %14 = getelementptr inbounds nuw i8, ptr %11, i64 8
  %15 = load i64, ptr %14, align 8
  %16 = getelementptr inbounds nuw i8, ptr %10, i64 8
  store i64 %15, ptr %16, align 8
  br label %68

17:                                               ; preds = %8
  %18 = load ptr, ptr %6, align 8
  %19 = load ptr, ptr %7, align 8
  %20 = getelementptr inbounds nuw i8, ptr %19, i64 96
  %21 = load i32, ptr %20, align 8
  %22 = zext i32 %21 to i64
  %23 = getelementptr inbounds nuw i8, ptr %18, i64 %22
  %24 = getelementptr inbounds nuw i8, ptr %19, i64 100
  %25 = load i32, ptr %24, align 4
  %26 = zext i32 %25 to i64
  %27 = getelementptr inbounds nuw i8, ptr %23, i64 %26
  %28 = getelementptr inbounds nuw i8, ptr %11, i64 8
  %29 = load i64, ptr %28, align 8
  %30 = shl nsw i64 %29, 1
  %31 = getelementptr inbounds i8, ptr %27, i64 %30
  %32 = load i8, ptr %31, align 1
  %33 = icmp eq i8 %32, 0
  br i1 %33, label %73, label %34

34:                                               ; preds = %17
  %35 = getelementptr inbounds nuw i8, ptr %19, i64 60
  %36 = load i32, ptr %35, align 4
  %37 = zext i32 %36 to i64
  %38 = getelementptr inbounds nuw i8, ptr %18, i64 %37
  %39 = getelementptr inbounds i64, ptr %38, i64 %29
  %40 = load i64, ptr %39, align 8
  %41 = getelementptr inbounds nuw i8, ptr %10, i64 8
  store i64 %40, ptr %41, align 8
  br label %68

42:                                               ; preds = %8
  %43 = getelementptr inbounds i8, ptr %10, i64 -8
  %44 = load i64, ptr %43, align 8
  %45 = and i64 %12, -2
  %46 = icmp eq i64 %45, 6
  br i1 %46, label %47, label %51

47:                                               ; preds = %42
  %48 = icmp slt i64 %44, 0
  %49 = icmp slt i64 %9, 1
  %50 = select i1 %48, i1 true, i1 %49
  br i1 %50, label %73, label %51

51:                                               ; preds = %42, %47
  switch i64 %12, label %64 [
    i64 3, label %52
    i64 4, label %54
    i64 8, label %56
    i64 9, label %58
    i64 6, label %60
    i64 7, label %62
  ]

52:                                               ; preds = %51
  %53 = add i64 %44, %9
  store i64 %53, ptr %43, align 8
  br label %68

54:                                               ; preds = %51
  %55 = sub i64 %44, %9
  store i64 %55, ptr %43, align 8
  br label %68

56:                                               ; preds = %51
  %57 = tail call i64 @llvm.smin.i64(i64 %44, i64 %9)
  store i64 %57, ptr %43, align 8
  br label %68

58:                                               ; preds = %51
  %59 = tail call i64 @llvm.smax.i64(i64 %44, i64 %9)
  store i64 %59, ptr %43, align 8
  br label %68

60:                                               ; preds = %51
  %61 = sdiv i64 %44, %9
  store i64 %61, ptr %43, align 8
  br label %68

62:                                               ; preds = %51
  %63 = srem i64 %44, %9
  store i64 %63, ptr %43, align 8
  br label %68

64:                                               ; preds = %51
  %65 = tail call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %44, i64 %9)
  %66 = extractvalue { i64, i1 } %65, 1
  %67 = extractvalue { i64, i1 } %65, 0
  store i64 %67, ptr %43, align 8
  br i1 %66, label %73, label %68

68:                                               ; preds = %52, %56, %60, %64, %62, %58, %54, %13, %34
  %69 = phi i64 [ %15, %13 ], [ %40, %34 ], [ %55, %54 ], [ %59, %58 ], [ %63, %62 ], [ %67, %64 ], [ %61, %60 ], [ %57, %56 ], [ %53, %52 ]
  %70 = phi ptr [ %16, %13 ], [ %41, %34 ], [ %43, %54 ], [ %43, %58 ], [ %43, %62 ], [ %43, %64 ], [ %43, %60 ], [ %43, %56 ], [ %43, %52 ]
  %71 = getelementptr inbounds nuw i8, ptr %11, i64 16
  br label %8, !llvm.loop !58

72:                                               ; preds = %8
  store i64 %9, ptr %2, align 8
  br label %73

73:                                               ; preds = %47, %64, %17, %72
  %74 = phi i32 [ 0, %72 ], [ 1, %17 ], [ 1, %64 ], [ 1, %47 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %4) #16
  ret i32 %74
}

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64) #12

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @other_number(ptr noundef nonnull readonly captures(none) %0, ptr noundef readonly captures(none) %1) unnamed_addr #3 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %4 = load ptr, ptr %3, align 8
  %5 = load i16, ptr %1, align 4
  %6 = zext i16 %5 to i64
  %7 = getelementptr inbounds nuw ptr, ptr %4, i64 %6
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %1, i64 2
  %10 = load i16, ptr %9, align 2
  %11 = icmp eq i16 %10, -1
  br i1 %11, label %25, label %12

12:                                               ; preds = %2
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %14 = load ptr, ptr %13, align 8
  %15 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %16 = load ptr, ptr %15, align 8
  %17 = getelementptr inbounds nuw i8, ptr %16, i64 124
  %18 = load i32, ptr %17, align 4
  %19 = zext i32 %18 to i64
  %20 = getelementptr inbounds nuw i8, ptr %14, i64 %19
  %21 = zext i16 %10 to i64
  %22 = getelementptr inbounds nuw i8, ptr %20, i64 %21
  %23 = load i8, ptr %22, align 1
  %24 = icmp eq i8 %23, 0
  br i1 %24, label %53, label %25

25:                                               ; preds = %2, %12
  %26 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %27 = load i32, ptr %26, align 4
  %28 = icmp eq i32 %27, 0
  br i1 %28, label %43, label %29

29:                                               ; preds = %25
  %30 = getelementptr inbounds nuw i8, ptr %8, i64 8
  %31 = load ptr, ptr %30, align 8
  %32 = ptrtoint ptr %31 to i64
  %33 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %34 = load ptr, ptr %33, align 8
  %35 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %36 = load ptr, ptr %35, align 8
  %37 = getelementptr inbounds nuw i8, ptr %36, i64 96
  %38 = load i32, ptr %37, align 8
  %39 = zext i32 %38 to i64
  %40 = getelementptr inbounds nuw i8, ptr %34, i64 %39
  %41 = zext i32 %27 to i64
  %42 = getelementptr inbounds nuw i64, ptr %40, i64 %41
  store i64 %32, ptr %42, align 8
  br label %53

43:                                               ; preds = %25
  %44 = getelementptr inbounds nuw i8, ptr %1, i64 12
  %45 = load i32, ptr %44, align 4
  %46 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %47 = load ptr, ptr %46, align 8
  %48 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %49 = load i32, ptr %48, align 4
  %50 = zext i32 %49 to i64
  %51 = getelementptr inbounds nuw i8, ptr %47, i64 %50
  %52 = tail call fastcc i32 @number(ptr noundef %0, ptr noundef %8, i32 noundef %45, ptr noundef %51) #17
  br label %53

53:                                               ; preds = %12, %43, %29
  %54 = phi i32 [ %52, %43 ], [ 0, %29 ], [ 0, %12 ]
  ret i32 %54
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @number(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, i32 noundef %2, ptr noundef captures(none) %3) unnamed_addr #3 {
  %5 = alloca ptr, align 8
  store ptr %1, ptr %5, align 8
  %6 = load ptr, ptr %0, align 8
  %7 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %6, i64 32
  %10 = load ptr, ptr %9, align 8
  %11 = icmp eq ptr %8, %10
  br i1 %11, label %20, label %12

12:                                               ; preds = %4
  %13 = getelementptr inbounds nuw i8, ptr %6, i64 48
  %14 = load ptr, ptr %13, align 8
  %15 = icmp eq ptr %8, %14
  br i1 %15, label %20, label %16

16:                                               ; preds = %12
  %17 = getelementptr inbounds nuw i8, ptr %6, i64 312
  %18 = load ptr, ptr %17, align 8
  %19 = icmp eq ptr %8, %18
  br i1 %19, label %20, label %22

20:                                               ; preds = %16, %12, %4
  %21 = tail call fastcc i32 @exactly(ptr noundef nonnull %6, ptr noundef nonnull %1, i32 noundef %2, ptr noundef %3) #17
  br label %37

22:                                               ; preds = %16
  %23 = getelementptr inbounds nuw i8, ptr %6, i64 216
  %24 = load ptr, ptr %23, align 8
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %26 = load ptr, ptr %25, align 8
  %27 = getelementptr inbounds nuw i8, ptr %26, i64 48
  %28 = load ptr, ptr %27, align 8
  %29 = call ptr %24(ptr noundef %28, ptr noundef nonnull %5, i64 noundef 1, ptr noundef null) #18
  %30 = icmp eq ptr %29, null
  br i1 %30, label %31, label %33

31:                                               ; preds = %22
  %32 = call fastcc i32 @failed(ptr noundef nonnull %6) #17
  br label %37

33:                                               ; preds = %22
  %34 = call fastcc i32 @exactly(ptr noundef nonnull %6, ptr noundef nonnull %29, i32 noundef %2, ptr noundef %3) #17
  %35 = getelementptr inbounds nuw i8, ptr %6, i64 184
  %36 = load ptr, ptr %35, align 8
  call void %36(ptr noundef nonnull %29) #18
  br label %37

37:                                               ; preds = %31, %33, %20
  %38 = phi i32 [ %21, %20 ], [ %34, %33 ], [ %32, %31 ]
  ret i32 %38
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @exactly(ptr noundef readonly captures(none) %0, ptr noundef %1, i32 noundef %2, ptr noundef captures(none) %3) unnamed_addr #3 {
  %5 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %6 = load ptr, ptr %5, align 8
  %7 = icmp ugt i32 %2, 15
  br i1 %7, label %8, label %36

8:                                                ; preds = %4
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %10 = load ptr, ptr %9, align 8
  %11 = icmp eq ptr %6, %10
  br i1 %11, label %12, label %145

12:                                               ; preds = %8
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 120
  %14 = load ptr, ptr %13, align 8
  %15 = tail call i64 %14(ptr noundef nonnull %1) #18
  store i64 %15, ptr %3, align 8
  %16 = icmp eq i64 %15, -1
  br i1 %16, label %17, label %27

17:                                               ; preds = %12
  %18 = getelementptr inbounds nuw i8, ptr %0, i64 152
  %19 = load ptr, ptr %18, align 8
  %20 = tail call ptr %19() #18
  %21 = icmp eq ptr %20, null
  br i1 %21, label %22, label %24

22:                                               ; preds = %17
  %23 = load i64, ptr %3, align 8
  br label %27

24:                                               ; preds = %17
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 160
  %26 = load ptr, ptr %25, align 8
  tail call void %26() #18
  br label %145

27:                                               ; preds = %22, %12
  %28 = phi i64 [ %23, %22 ], [ %15, %12 ]
  %29 = add i32 %2, -16
  %30 = zext nneg i32 %29 to i64
  %31 = shl nsw i64 -1, %30
  %32 = xor i64 %31, -1
  %33 = and i64 %28, %32
  %34 = icmp ne i64 %33, 0
  %35 = zext i1 %34 to i32
  br label %145

36:                                               ; preds = %4
  %37 = icmp eq i32 %2, 0
  br i1 %37, label %38, label %47

38:                                               ; preds = %36
  %39 = getelementptr inbounds nuw i8, ptr %0, i64 296
  %40 = load ptr, ptr %39, align 8
  %41 = icmp eq ptr %1, %40
  %42 = zext i1 %41 to i64
  store i64 %42, ptr %3, align 8
  %43 = getelementptr inbounds nuw i8, ptr %0, i64 312
  %44 = load ptr, ptr %43, align 8
  %45 = icmp ne ptr %6, %44
  %46 = zext i1 %45 to i32
  br label %145

47:                                               ; preds = %36
  %48 = icmp samesign ult i32 %2, 9
  br i1 %48, label %49, label %117

49:                                               ; preds = %47
  %50 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %51 = load ptr, ptr %50, align 8
  %52 = icmp eq ptr %6, %51
  br i1 %52, label %57, label %53

53:                                               ; preds = %49
  %54 = getelementptr inbounds nuw i8, ptr %0, i64 312
  %55 = load ptr, ptr %54, align 8
  %56 = icmp eq ptr %6, %55
  br i1 %56, label %57, label %145

57:                                               ; preds = %53, %49
  switch i32 %2, label %71 [
    i32 8, label %58
    i32 4, label %77
  ]

58:                                               ; preds = %57
  %59 = getelementptr inbounds nuw i8, ptr %0, i64 120
  %60 = load ptr, ptr %59, align 8
  %61 = tail call i64 %60(ptr noundef nonnull %1) #18
  store i64 %61, ptr %3, align 8
  %62 = icmp eq i64 %61, -1
  br i1 %62, label %63, label %145

63:                                               ; preds = %58
  %64 = getelementptr inbounds nuw i8, ptr %0, i64 152
  %65 = load ptr, ptr %64, align 8
  %66 = tail call ptr %65() #18
  %67 = icmp eq ptr %66, null
  br i1 %67, label %145, label %68

68:                                               ; preds = %63
  %69 = getelementptr inbounds nuw i8, ptr %0, i64 160
  %70 = load ptr, ptr %69, align 8
  tail call void %70() #18
  br label %145

71:                                               ; preds = %57
  %72 = and i32 %2, 3
  %73 = icmp eq i32 %72, 3
  br i1 %73, label %77, label %74

74:                                               ; preds = %71
  %75 = icmp eq i32 %72, 2
  %76 = select i1 %75, i64 48, i64 56
  br label %77

77:                                               ; preds = %57, %71, %74
  %78 = phi i64 [ 0, %57 ], [ %76, %74 ], [ 32, %71 ]
  %79 = lshr i64 -1, %78
  %80 = icmp samesign ugt i32 %2, 4
  %81 = lshr i64 9223372036854775807, %78
  %82 = select i1 %80, i64 %79, i64 %81
  %83 = ashr exact i64 -9223372036854775808, %78
  %84 = select i1 %80, i64 0, i64 %83
  %85 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %86 = load i64, ptr %85, align 8
  %87 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %88 = load i64, ptr %87, align 8
  %89 = icmp eq i64 %86, %88
  br i1 %89, label %90, label %94

90:                                               ; preds = %77
  %91 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %92 = load i32, ptr %91, align 4
  %93 = zext i32 %92 to i64
  br label %107

94:                                               ; preds = %77
  %95 = getelementptr inbounds nuw i8, ptr %0, i64 112
  %96 = load ptr, ptr %95, align 8
  %97 = tail call i64 %96(ptr noundef nonnull %1) #18
  %98 = icmp eq i64 %97, -1
  br i1 %98, label %99, label %107

99:                                               ; preds = %94
  %100 = getelementptr inbounds nuw i8, ptr %0, i64 152
  %101 = load ptr, ptr %100, align 8
  %102 = tail call ptr %101() #18
  %103 = icmp eq ptr %102, null
  br i1 %103, label %107, label %104

104:                                              ; preds = %99
  %105 = getelementptr inbounds nuw i8, ptr %0, i64 160
  %106 = load ptr, ptr %105, align 8
  tail call void %106() #18
  br label %114

107:                                              ; preds = %99, %94, %90
  %108 = phi i64 [ -1, %99 ], [ %97, %94 ], [ %93, %90 ]
  %109 = icmp slt i64 %108, %84
  %110 = icmp sgt i64 %108, %82
  %111 = select i1 %109, i1 true, i1 %110
  %112 = zext i1 %111 to i32
  %113 = and i64 %108, %79
  br label %114

114:                                              ; preds = %104, %107
  %115 = phi i64 [ %113, %107 ], [ %79, %104 ]
  %116 = phi i32 [ %112, %107 ], [ 1, %104 ]
  store i64 %115, ptr %3, align 8
  br label %145

117:                                              ; preds = %47
  %118 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %119 = load ptr, ptr %118, align 8
  %120 = icmp eq ptr %6, %119
  br i1 %120, label %121, label %124

121:                                              ; preds = %117
  %122 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %123 = load i64, ptr %122, align 8
  br label %142

124:                                              ; preds = %117
  %125 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %126 = load ptr, ptr %125, align 8
  %127 = icmp eq ptr %6, %126
  br i1 %127, label %128, label %145

128:                                              ; preds = %124
  %129 = getelementptr inbounds nuw i8, ptr %0, i64 128
  %130 = load ptr, ptr %129, align 8
  %131 = tail call double %130(ptr noundef nonnull %1) #18
  %132 = bitcast double %131 to i64
  %133 = icmp eq i64 %132, -4616189618054758400
  br i1 %133, label %134, label %142

134:                                              ; preds = %128
  %135 = getelementptr inbounds nuw i8, ptr %0, i64 152
  %136 = load ptr, ptr %135, align 8
  %137 = tail call ptr %136() #18
  %138 = icmp eq ptr %137, null
  br i1 %138, label %142, label %139

139:                                              ; preds = %134
  %140 = getelementptr inbounds nuw i8, ptr %0, i64 160
  %141 = load ptr, ptr %140, align 8
  tail call void %141() #18
  br label %145

142:                                              ; preds = %128, %134, %121
  %143 = phi i64 [ %132, %128 ], [ -4616189618054758400, %134 ], [ %123, %121 ]
  %144 = tail call fastcc i32 @rounded(i64 noundef %143, i32 noundef %2, ptr noundef %3) #17
  br label %145

145:                                              ; preds = %124, %58, %63, %53, %8, %142, %139, %114, %68, %38, %27, %24
  %146 = phi i32 [ 1, %139 ], [ 1, %24 ], [ %35, %27 ], [ %46, %38 ], [ 1, %8 ], [ 1, %68 ], [ 1, %53 ], [ %116, %114 ], [ %144, %142 ], [ 0, %58 ], [ 0, %63 ], [ 1, %124 ]
  ret i32 %146
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define internal fastcc range(i32 0, 2) i32 @rounded(i64 noundef %0, i32 noundef range(i32 9, 16) %1, ptr noundef captures(none) initializes((0, 8)) %2) unnamed_addr #7 {
  %4 = and i64 %0, 9223372036854775807
  switch i32 %1, label %24 [
    i32 12, label %5
    i32 11, label %6
    i32 9, label %14
    i32 10, label %16
    i32 15, label %18
    i32 14, label %20
  ]

5:                                                ; preds = %3
  store i64 %0, ptr %2, align 8
  br label %28

6:                                                ; preds = %3
  %7 = bitcast i64 %0 to double
  %8 = fptrunc double %7 to float
  %9 = bitcast float %8 to i32
  %10 = zext i32 %9 to i64
  store i64 %10, ptr %2, align 8
  %11 = add nsw i64 %4, -5183643170835005440
  %12 = icmp ult i64 %11, 4035225266392399872
  %13 = zext i1 %12 to i32
  br label %28

14:                                               ; preds = %3
  %15 = tail call fastcc i32 @narrow(i64 noundef %0, i32 noundef 5, i32 noundef 10, i32 noundef 1, ptr noundef %2) #17
  br label %28

16:                                               ; preds = %3
  %17 = tail call fastcc i32 @narrow(i64 noundef %0, i32 noundef 8, i32 noundef 7, i32 noundef 1, ptr noundef %2) #17
  br label %28

18:                                               ; preds = %3
  %19 = tail call fastcc i32 @narrow(i64 noundef %0, i32 noundef 5, i32 noundef 2, i32 noundef 1, ptr noundef %2) #17
  br label %28

20:                                               ; preds = %3
  %21 = tail call fastcc i32 @narrow(i64 noundef %0, i32 noundef 4, i32 noundef 3, i32 noundef 0, ptr noundef %2) #17
  %22 = icmp eq i64 %4, 4646870390516219904
  %23 = select i1 %22, i32 1, i32 %21
  br label %28

24:                                               ; preds = %3
  %25 = tail call fastcc i32 @narrow(i64 noundef %0, i32 noundef 8, i32 noundef 10, i32 noundef 1, ptr noundef %2) #17
  %26 = load i64, ptr %2, align 8
  %27 = shl i64 %26, 13
  store i64 %27, ptr %2, align 8
  br label %28

28:                                               ; preds = %24, %20, %18, %16, %14, %6, %5
  %29 = phi i32 [ 0, %5 ], [ %13, %6 ], [ %15, %14 ], [ %17, %16 ], [ %19, %18 ], [ %23, %20 ], [ %25, %24 ]
  ret i32 %29
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: write)
define internal fastcc range(i32 0, 2) i32 @narrow(i64 noundef %0, i32 noundef range(i32 4, 9) %1, i32 noundef range(i32 2, 11) %2, i32 noundef range(i32 0, 2) %3, ptr noundef writeonly captures(none) initializes((0, 8)) %4) unnamed_addr #13 {
  %6 = lshr i64 %0, 63
  %7 = add nuw nsw i32 %2, %1
  %8 = zext nneg i32 %7 to i64
  %9 = shl nuw nsw i64 %6, %8
  %10 = shl nsw i64 -1, %8
  %11 = xor i64 %10, -1
  %12 = zext nneg i32 %2 to i64
  %13 = shl nsw i64 -1, %12
  %14 = icmp eq i32 %3, 0
  %15 = select i1 %14, i64 2147483647, i64 %13
  %16 = and i64 %15, %11
  %17 = and i64 %0, 4503599627370495
  %18 = lshr i64 %0, 52
  %19 = and i64 %18, 2047
  %20 = icmp eq i64 %19, 2047
  br i1 %20, label %21, label %31

21:                                               ; preds = %5
  %22 = icmp eq i64 %17, 0
  %23 = add nsw i32 %2, -1
  %24 = zext nneg i32 %23 to i64
  %25 = shl nuw nsw i64 1, %24
  %26 = or i64 %16, %25
  %27 = select i1 %14, i64 %11, i64 %26
  %28 = select i1 %22, i64 %16, i64 %27
  %29 = or i64 %28, %9
  store i64 %29, ptr %4, align 8
  %30 = and i1 %22, %14
  br label %67

31:                                               ; preds = %5
  %32 = add nsw i64 %19, -1023
  %33 = add nsw i32 %1, -1
  %34 = zext nneg i32 %33 to i64
  %35 = shl nsw i64 -1, %34
  %36 = add nuw nsw i64 %35, 2
  %37 = icmp eq i64 %19, 0
  %38 = select i1 %37, i64 0, i64 4503599627370496
  %39 = or disjoint i64 %38, %17
  %40 = tail call i64 @llvm.smax.i64(i64 %32, i64 %36)
  %41 = sub nuw nsw i32 52, %2
  %42 = zext nneg i32 %41 to i64
  %43 = sub nsw i64 %42, %19
  %44 = add nsw i64 %43, 1023
  %45 = add nsw i64 %44, %40
  %46 = tail call i64 @llvm.smin.i64(i64 %45, i64 63)
  %47 = lshr i64 %39, %46
  %48 = shl nuw i64 1, %46
  %49 = add nuw i64 %48, 9007199254740991
  %50 = and i64 %49, %39
  %51 = lshr i64 %48, 1
  %52 = sub nsw i64 %40, %36
  %53 = shl nsw i64 %52, %12
  %54 = add nsw i64 %47, %53
  %55 = icmp samesign ugt i64 %50, %51
  br i1 %55, label %62, label %56

56:                                               ; preds = %31
  %57 = icmp eq i64 %50, %51
  %58 = and i64 %47, 1
  %59 = icmp ne i64 %58, 0
  %60 = select i1 %57, i1 %59, i1 false
  %61 = zext i1 %60 to i64
  br label %62

62:                                               ; preds = %56, %31
  %63 = phi i64 [ 1, %31 ], [ %61, %56 ]
  %64 = add nsw i64 %54, %63
  %65 = or i64 %64, %9
  store i64 %65, ptr %4, align 8
  %66 = icmp uge i64 %64, %16
  br label %67

67:                                               ; preds = %62, %21
  %68 = phi i1 [ %30, %21 ], [ %66, %62 ]
  %69 = zext i1 %68 to i32
  ret i32 %69
}

; Function Attrs: nofree noinline norecurse nosync nounwind memory(read, argmem: readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define internal fastcc noundef ptr @search(ptr noundef readonly captures(none) %0, ptr noundef captures(none) %1, ptr noundef readonly captures(none) %2) unnamed_addr #11 {
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 68
  %5 = load i32, ptr %4, align 4
  %6 = icmp eq i32 %5, 0
  br i1 %6, label %32, label %7

7:                                                ; preds = %3
  %8 = zext i32 %5 to i64
  %9 = and i64 %8, 3
  %10 = icmp ult i32 %5, 4
  br i1 %10, label %15, label %11

11:                                               ; preds = %7
  %12 = and i64 %8, 4294967292
  br label %43

13:                                               ; preds = %43
  %14 = icmp eq i64 %9, 0
  br i1 %14, label %32, label %15

15:                                               ; preds = %13, %7
  %16 = phi i64 [ 0, %7 ], [ %74, %13 ]
  %17 = phi i64 [ 0, %7 ], [ %73, %13 ]
  %18 = icmp ne i64 %9, 0
  tail call void @llvm.assume(i1 %18)
  br label %19

19:                                               ; preds = %19, %15
  %20 = phi i64 [ %16, %15 ], [ %29, %19 ]
  %21 = phi i64 [ %17, %15 ], [ %28, %19 ]
  %22 = phi i64 [ 0, %15 ], [ %30, %19 ]
  %23 = getelementptr inbounds nuw i64, ptr %2, i64 %20
  %24 = load i64, ptr %23, align 8
  %25 = xor i64 %24, %21
  %26 = mul i64 %25, -7046029254386353131
  %27 = lshr i64 %26, 29
  %28 = xor i64 %27, %26
  %29 = add nuw nsw i64 %20, 1
  %30 = add i64 %22, 1
  %31 = icmp eq i64 %30, %9
  br i1 %31, label %32, label %19, !llvm.loop !59

32:                                               ; preds = %13, %19, %3
  %33 = phi i64 [ 0, %3 ], [ %73, %13 ], [ %28, %19 ]
  %34 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %35 = load i64, ptr %1, align 8
  %36 = and i64 %35, %33
  %37 = getelementptr inbounds nuw ptr, ptr %34, i64 %36
  %38 = load ptr, ptr %37, align 8
  %39 = icmp eq ptr %38, null
  br i1 %39, label %107, label %40

40:                                               ; preds = %32
  %41 = getelementptr inbounds nuw i8, ptr %0, i64 76
  %42 = zext i32 %5 to i64
  br label %77

43:                                               ; preds = %43, %11
  %44 = phi i64 [ 0, %11 ], [ %74, %43 ]
  %45 = phi i64 [ 0, %11 ], [ %73, %43 ]
  %46 = phi i64 [ 0, %11 ], [ %75, %43 ]
  %47 = getelementptr inbounds nuw i64, ptr %2, i64 %44
  %48 = load i64, ptr %47, align 8
  %49 = xor i64 %48, %45
  %50 = mul i64 %49, -7046029254386353131
  %51 = lshr i64 %50, 29
  %52 = getelementptr inbounds nuw i64, ptr %2, i64 %44
  %53 = getelementptr inbounds nuw i8, ptr %52, i64 8
  %54 = load i64, ptr %53, align 8
  %55 = xor i64 %51, %54
  %56 = xor i64 %55, %50
  %57 = mul i64 %56, -7046029254386353131
  %58 = lshr i64 %57, 29
  %59 = getelementptr inbounds nuw i64, ptr %2, i64 %44
  %60 = getelementptr inbounds nuw i8, ptr %59, i64 16
  %61 = load i64, ptr %60, align 8
  %62 = xor i64 %58, %61
  %63 = xor i64 %62, %57
  %64 = mul i64 %63, -7046029254386353131
  %65 = lshr i64 %64, 29
  %66 = getelementptr inbounds nuw i64, ptr %2, i64 %44
  %67 = getelementptr inbounds nuw i8, ptr %66, i64 24
  %68 = load i64, ptr %67, align 8
  %69 = xor i64 %65, %68
  %70 = xor i64 %69, %64
  %71 = mul i64 %70, -7046029254386353131
  %72 = lshr i64 %71, 29
  %73 = xor i64 %72, %71
  %74 = add nuw nsw i64 %44, 4
  %75 = add i64 %46, 4
  %76 = icmp eq i64 %75, %12
  br i1 %76, label %13, label %43, !llvm.loop !60

77:                                               ; preds = %40, %101
  %78 = phi ptr [ %38, %40 ], [ %105, %101 ]
  %79 = phi i64 [ %33, %40 ], [ %102, %101 ]
  %80 = load i64, ptr %78, align 8
  %81 = icmp eq i64 %80, %33
  br i1 %81, label %82, label %101

82:                                               ; preds = %77
  %83 = load i32, ptr %41, align 4
  %84 = zext i32 %83 to i64
  %85 = getelementptr inbounds nuw i8, ptr %78, i64 %84
  br i1 %6, label %99, label %86

86:                                               ; preds = %82, %93
  %87 = phi i64 [ %94, %93 ], [ 0, %82 ]
  %88 = getelementptr inbounds nuw i64, ptr %85, i64 %87
  %89 = load i64, ptr %88, align 8
  %90 = getelementptr inbounds nuw i64, ptr %2, i64 %87
  %91 = load i64, ptr %90, align 8
  %92 = icmp eq i64 %89, %91
  br i1 %92, label %93, label %96

93:                                               ; preds = %86
  %94 = add nuw nsw i64 %87, 1
  %95 = icmp eq i64 %94, %42
  br i1 %95, label %99, label %86, !llvm.loop !61

96:                                               ; preds = %86
  %97 = trunc nuw i64 %87 to i32
  %98 = icmp eq i32 %5, %97
  br i1 %98, label %99, label %101

99:                                               ; preds = %82, %96, %93
  %100 = getelementptr inbounds nuw i8, ptr %1, i64 16
  store ptr %78, ptr %100, align 8
  br label %107

101:                                              ; preds = %77, %96
  %102 = add i64 %79, 1
  %103 = and i64 %35, %102
  %104 = getelementptr inbounds nuw ptr, ptr %34, i64 %103
  %105 = load ptr, ptr %104, align 8
  %106 = icmp eq ptr %105, null
  br i1 %106, label %107, label %77

107:                                              ; preds = %101, %32, %99
  %108 = phi ptr [ %78, %99 ], [ null, %32 ], [ null, %101 ]
  ret ptr %108
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @renew(ptr noundef readonly captures(none) %0, ptr noundef %1, ptr noundef readonly captures(none) %2, i64 noundef %3, ptr noundef writeonly captures(none) %4) unnamed_addr #3 {
  %6 = alloca [32 x i64], align 16
  call void @llvm.lifetime.start.p0(ptr nonnull %6) #16
  %7 = ptrtoint ptr %6 to i64
  %8 = add i64 %7, 127
  %9 = and i64 %8, -128
  %10 = inttoptr i64 %9 to ptr
  %11 = call fastcc i32 @encode(ptr noundef %0, ptr noundef %1, ptr noundef %2, i64 noundef %3, ptr noundef %10) #17
  %12 = icmp eq i32 %11, 0
  br i1 %12, label %13, label %59

13:                                               ; preds = %5
  %14 = getelementptr inbounds nuw i8, ptr %4, i64 128
  %15 = load <2 x i64>, ptr %10, align 128
  %16 = getelementptr inbounds nuw i8, ptr %10, i64 16
  %17 = load <2 x i64>, ptr %16, align 16
  %18 = getelementptr inbounds nuw i8, ptr %10, i64 32
  %19 = load <2 x i64>, ptr %18, align 32
  %20 = getelementptr inbounds nuw i8, ptr %10, i64 48
  %21 = load <2 x i64>, ptr %20, align 16
  %22 = getelementptr inbounds nuw i8, ptr %10, i64 64
  %23 = load <2 x i64>, ptr %22, align 64
  %24 = getelementptr inbounds nuw i8, ptr %10, i64 80
  %25 = load <2 x i64>, ptr %24, align 16
  %26 = getelementptr inbounds nuw i8, ptr %10, i64 96
  %27 = load <2 x i64>, ptr %26, align 32
  %28 = getelementptr inbounds nuw i8, ptr %10, i64 112
  %29 = load <2 x i64>, ptr %28, align 16
  store <2 x i64> %15, ptr %14, align 8
  %30 = getelementptr inbounds nuw i8, ptr %4, i64 144
  store <2 x i64> %17, ptr %30, align 8
  %31 = getelementptr inbounds nuw i8, ptr %4, i64 160
  store <2 x i64> %19, ptr %31, align 8
  %32 = getelementptr inbounds nuw i8, ptr %4, i64 176
  store <2 x i64> %21, ptr %32, align 8
  %33 = getelementptr inbounds nuw i8, ptr %4, i64 192
  store <2 x i64> %23, ptr %33, align 8
  %34 = getelementptr inbounds nuw i8, ptr %4, i64 208
  store <2 x i64> %25, ptr %34, align 8
  %35 = getelementptr inbounds nuw i8, ptr %4, i64 224
  store <2 x i64> %27, ptr %35, align 8
  %36 = getelementptr inbounds nuw i8, ptr %4, i64 240
  store <2 x i64> %29, ptr %36, align 8
  store i64 %3, ptr %4, align 8
  %37 = getelementptr inbounds nuw i8, ptr %1, i64 12
  %38 = load i32, ptr %37, align 4
  %39 = icmp eq i32 %38, 0
  br i1 %39, label %59, label %40

40:                                               ; preds = %13
  %41 = getelementptr inbounds nuw i8, ptr %2, i64 24
  %42 = getelementptr inbounds nuw i8, ptr %4, i64 8
  %43 = getelementptr inbounds nuw i8, ptr %2, i64 32
  %44 = getelementptr inbounds nuw i8, ptr %4, i64 48
  br label %45

45:                                               ; preds = %40, %45
  %46 = phi i64 [ 0, %40 ], [ %55, %45 ]
  %47 = load ptr, ptr %41, align 8
  %48 = getelementptr inbounds nuw i64, ptr %47, i64 %46
  %49 = load i64, ptr %48, align 8
  %50 = getelementptr inbounds nuw i64, ptr %42, i64 %46
  store i64 %49, ptr %50, align 8
  %51 = load ptr, ptr %43, align 8
  %52 = getelementptr inbounds nuw i64, ptr %51, i64 %46
  %53 = load i64, ptr %52, align 8
  %54 = getelementptr inbounds nuw i64, ptr %44, i64 %46
  store i64 %53, ptr %54, align 8
  %55 = add nuw nsw i64 %46, 1
  %56 = load i32, ptr %37, align 4
  %57 = zext i32 %56 to i64
  %58 = icmp samesign ult i64 %55, %57
  br i1 %58, label %45, label %59, !llvm.loop !62

59:                                               ; preds = %45, %13, %5
  %60 = phi i32 [ 1, %5 ], [ 0, %13 ], [ 0, %45 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %6) #16
  ret i32 %60
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @encode(ptr noundef readonly captures(none) %0, ptr noundef %1, ptr noundef readonly captures(none) %2, i64 noundef %3, ptr noundef %4) unnamed_addr #3 {
  %6 = alloca [5 x i64], align 16
  %7 = alloca [5 x i64], align 16
  %8 = alloca [5 x i32], align 16
  call void @llvm.lifetime.start.p0(ptr nonnull %6) #16
  call void @llvm.lifetime.start.p0(ptr nonnull %7) #16
  call void @llvm.lifetime.start.p0(ptr nonnull %8) #16
  %9 = getelementptr inbounds nuw i8, ptr %1, i64 12
  %10 = load i32, ptr %9, align 4
  %11 = and i64 %3, 15
  %12 = icmp eq i64 %11, 0
  br i1 %12, label %13, label %90

13:                                               ; preds = %5
  %14 = icmp eq i32 %10, 0
  br i1 %14, label %80, label %15

15:                                               ; preds = %13
  %16 = getelementptr inbounds nuw i8, ptr %2, i64 24
  %17 = load ptr, ptr %16, align 8
  %18 = getelementptr inbounds nuw i8, ptr %2, i64 32
  %19 = load ptr, ptr %18, align 8
  %20 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %21 = zext i32 %10 to i64
  %22 = add i32 %10, -1
  %23 = zext i32 %22 to i64
  %24 = getelementptr inbounds nuw i64, ptr %17, i64 %23
  %25 = load i64, ptr %24, align 8
  %26 = add i64 %25, -4294967297
  %27 = icmp ult i64 %26, -4294967296
  br i1 %27, label %90, label %28

28:                                               ; preds = %15
  %29 = getelementptr inbounds nuw i64, ptr %19, i64 %23
  %30 = load i64, ptr %29, align 8
  store i64 %25, ptr %6, align 16
  store i32 1, ptr %8, align 16
  %31 = icmp ne i64 %30, 1
  %32 = icmp ne i64 %25, 1
  %33 = and i1 %32, %31
  br i1 %33, label %90, label %34

34:                                               ; preds = %28
  %35 = icmp eq i32 %10, 1
  br i1 %35, label %80, label %36

36:                                               ; preds = %34
  %37 = load i32, ptr %20, align 4
  %38 = zext i32 %37 to i64
  %39 = mul nuw i64 %25, %38
  %40 = add nuw i64 %39, 31
  %41 = and i64 %40, -32
  br label %42

42:                                               ; preds = %36, %67
  %43 = phi i64 [ %78, %67 ], [ 1, %36 ]
  %44 = phi i64 [ %77, %67 ], [ %41, %36 ]
  %45 = trunc nuw i64 %43 to i32
  %46 = xor i32 %45, -1
  %47 = add i32 %10, %46
  %48 = zext i32 %47 to i64
  %49 = getelementptr inbounds nuw i64, ptr %17, i64 %48
  %50 = load i64, ptr %49, align 8
  %51 = getelementptr inbounds nuw i64, ptr %19, i64 %48
  %52 = load i64, ptr %51, align 8
  %53 = add i64 %50, -4294967297
  %54 = icmp ult i64 %53, -4294967296
  br i1 %54, label %90, label %55

55:                                               ; preds = %42
  %56 = getelementptr inbounds nuw i64, ptr %6, i64 %43
  store i64 %50, ptr %56, align 8
  %57 = getelementptr inbounds nuw i32, ptr %8, i64 %43
  store i32 1, ptr %57, align 4
  %58 = icmp eq i64 %50, 1
  br i1 %58, label %67, label %59

59:                                               ; preds = %55
  %60 = load i32, ptr %20, align 4
  %61 = zext i32 %60 to i64
  %62 = mul i64 %52, %61
  %63 = icmp ult i64 %52, 1099511627776
  %64 = and i64 %62, -1099511627761
  %65 = icmp eq i64 %64, 0
  %66 = select i1 %63, i1 %65, i1 false
  br i1 %66, label %67, label %90

67:                                               ; preds = %55, %59
  %68 = phi i64 [ %62, %59 ], [ %44, %55 ]
  %69 = add nuw i64 %43, 4294967295
  %70 = and i64 %69, 4294967295
  %71 = getelementptr inbounds nuw i64, ptr %7, i64 %70
  store i64 %68, ptr %71, align 8
  %72 = tail call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %68, i64 %50)
  %73 = extractvalue { i64, i1 } %72, 1
  %74 = extractvalue { i64, i1 } %72, 0
  %75 = tail call i64 @llvm.umin.i64(i64 %74, i64 1099511627744)
  %76 = select i1 %73, i64 1099511627744, i64 %75
  %77 = tail call i64 @llvm.umax.i64(i64 %76, i64 %44)
  %78 = add nuw nsw i64 %43, 1
  %79 = icmp eq i64 %78, %21
  br i1 %79, label %80, label %42, !llvm.loop !63

80:                                               ; preds = %67, %34, %13
  %81 = getelementptr inbounds nuw i8, ptr %0, i64 288
  %82 = load ptr, ptr %81, align 8
  %83 = load i32, ptr %1, align 4
  %84 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %85 = getelementptr inbounds nuw i8, ptr %1, i64 4
  %86 = load i32, ptr %85, align 4
  %87 = call i32 %82(ptr noundef %4, i32 noundef %83, i32 noundef %10, i64 noundef %3, ptr noundef nonnull %6, ptr noundef nonnull %7, ptr noundef nonnull %84, ptr noundef nonnull %8, i32 noundef 0, i32 noundef %86, i32 noundef 2, i32 noundef 0) #18
  %88 = icmp ne i32 %87, 0
  %89 = zext i1 %88 to i32
  br label %90

90:                                               ; preds = %59, %42, %15, %28, %5, %80
  %91 = phi i32 [ 1, %5 ], [ %89, %80 ], [ 1, %28 ], [ 1, %15 ], [ 1, %42 ], [ 1, %59 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %8) #16
  call void @llvm.lifetime.end.p0(ptr nonnull %7) #16
  call void @llvm.lifetime.end.p0(ptr nonnull %6) #16
  ret i32 %91
}

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64) #12

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @submit_there(ptr noundef readonly captures(none) %0, ptr noundef nonnull %1, ptr noundef readonly captures(none) %2, ptr noundef nonnull %3) unnamed_addr #3 {
  %5 = alloca i64, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %5) #16
  store i64 0, ptr %5, align 8
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %7 = load ptr, ptr %6, align 8
  %8 = getelementptr inbounds nuw i8, ptr %2, i64 8
  %9 = load ptr, ptr %8, align 8
  %10 = call i32 %7(ptr noundef %9, ptr noundef nonnull %5) #18
  %11 = icmp eq i32 %10, 0
  br i1 %11, label %12, label %39

12:                                               ; preds = %4
  %13 = load i64, ptr %5, align 8
  %14 = getelementptr inbounds nuw i8, ptr %2, i64 16
  %15 = load i64, ptr %14, align 8
  %16 = icmp eq i64 %13, %15
  br i1 %16, label %17, label %39

17:                                               ; preds = %12
  %18 = getelementptr inbounds nuw i8, ptr %0, i64 272
  %19 = load ptr, ptr %18, align 8
  %20 = load ptr, ptr %8, align 8
  %21 = call i32 %19(ptr noundef %20) #18
  %22 = icmp eq i32 %21, 0
  br i1 %22, label %23, label %39

23:                                               ; preds = %17
  %24 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %25 = load ptr, ptr %24, align 8
  %26 = call ptr %25() #18
  %27 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %28 = load ptr, ptr %27, align 8
  %29 = getelementptr inbounds nuw i8, ptr %2, i64 24
  %30 = load ptr, ptr %29, align 8
  %31 = call i32 %28(ptr noundef nonnull %1, ptr noundef %30, ptr noundef nonnull %3, ptr noundef null) #18
  %32 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %33 = load ptr, ptr %32, align 8
  call void %33(ptr noundef %26) #18
  %34 = icmp ne i32 %31, 0
  %35 = zext i1 %34 to i32
  %36 = getelementptr inbounds nuw i8, ptr %0, i64 280
  %37 = load ptr, ptr %36, align 8
  %38 = call i32 %37(ptr noundef nonnull %5) #18
  br label %39

39:                                               ; preds = %4, %12, %17, %23
  %40 = phi i32 [ %35, %23 ], [ 1, %17 ], [ 1, %12 ], [ 1, %4 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %5) #16
  ret i32 %40
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @shape_of(ptr noundef readonly captures(none) %0, ptr noundef %1, ptr noundef nonnull writeonly captures(none) %2) unnamed_addr #3 {
  %4 = alloca [3 x i64], align 16
  call void @llvm.lifetime.start.p0(ptr nonnull %4) #16
  %5 = getelementptr inbounds nuw i8, ptr %4, i64 16
  store i64 1, ptr %5, align 16
  %6 = getelementptr inbounds nuw i8, ptr %4, i64 8
  store i64 1, ptr %6, align 8
  store i64 1, ptr %4, align 16
  %7 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 104
  %10 = load ptr, ptr %9, align 8
  %11 = icmp eq ptr %8, %10
  br i1 %11, label %12, label %17

12:                                               ; preds = %3
  %13 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %14 = load i64, ptr %13, align 8
  %15 = add i64 %14, -4
  %16 = icmp ult i64 %15, -3
  br i1 %16, label %78, label %21

17:                                               ; preds = %3
  %18 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %19 = load ptr, ptr %18, align 8
  %20 = icmp eq ptr %8, %19
  br i1 %20, label %21, label %78

21:                                               ; preds = %17, %12
  %22 = phi i64 [ %14, %12 ], [ 0, %17 ]
  %23 = tail call i64 @llvm.umax.i64(i64 %22, i64 1)
  %24 = icmp eq i64 %22, 0
  %25 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %26 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %27 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %28 = getelementptr inbounds nuw i8, ptr %0, i64 112
  %29 = getelementptr inbounds nuw i8, ptr %0, i64 152
  br label %30

30:                                               ; preds = %21, %66
  %31 = phi i64 [ 0, %21 ], [ %67, %66 ]
  br i1 %24, label %37, label %32

32:                                               ; preds = %30
  %33 = shl i64 %31, 32
  %34 = ashr exact i64 %33, 29
  %35 = getelementptr inbounds i8, ptr %25, i64 %34
  %36 = load ptr, ptr %35, align 8
  br label %37

37:                                               ; preds = %30, %32
  %38 = phi ptr [ %36, %32 ], [ %1, %30 ]
  %39 = getelementptr inbounds nuw i8, ptr %38, i64 8
  %40 = load ptr, ptr %39, align 8
  %41 = load ptr, ptr %26, align 8
  %42 = icmp eq ptr %40, %41
  br i1 %42, label %43, label %78

43:                                               ; preds = %37
  %44 = getelementptr inbounds nuw i64, ptr %4, i64 %31
  %45 = getelementptr inbounds nuw i8, ptr %38, i64 16
  %46 = load i64, ptr %45, align 8
  %47 = load i64, ptr %27, align 8
  %48 = icmp eq i64 %46, %47
  br i1 %48, label %49, label %53

49:                                               ; preds = %43
  %50 = getelementptr inbounds nuw i8, ptr %38, i64 24
  %51 = load i32, ptr %50, align 4
  %52 = zext i32 %51 to i64
  store i64 %52, ptr %44, align 8
  br label %66

53:                                               ; preds = %43
  %54 = load ptr, ptr %28, align 8
  %55 = tail call i64 %54(ptr noundef nonnull %38) #18
  store i64 %55, ptr %44, align 8
  %56 = icmp eq i64 %55, -1
  br i1 %56, label %57, label %64

57:                                               ; preds = %53
  %58 = load ptr, ptr %29, align 8
  %59 = tail call ptr %58() #18
  %60 = icmp eq ptr %59, null
  br i1 %60, label %78, label %61

61:                                               ; preds = %57
  %62 = getelementptr inbounds nuw i8, ptr %0, i64 160
  %63 = load ptr, ptr %62, align 8
  tail call void %63() #18
  br label %78

64:                                               ; preds = %53
  %65 = icmp ult i64 %55, 4294967296
  br i1 %65, label %66, label %78

66:                                               ; preds = %64, %49
  %67 = add nuw nsw i64 %31, 1
  %68 = icmp eq i64 %67, %23
  br i1 %68, label %69, label %30, !llvm.loop !64

69:                                               ; preds = %66
  %70 = load i64, ptr %4, align 16
  %71 = load i64, ptr %6, align 8
  %72 = load i64, ptr %5, align 16
  %73 = shl i64 %71, 32
  %74 = or i64 %73, %70
  store i64 %74, ptr %2, align 8
  %75 = shl nuw nsw i64 %22, 32
  %76 = or i64 %72, %75
  %77 = getelementptr inbounds nuw i8, ptr %2, i64 8
  store i64 %76, ptr %77, align 8
  br label %78

78:                                               ; preds = %64, %37, %57, %61, %17, %12, %69
  %79 = phi i32 [ 1, %12 ], [ 0, %69 ], [ 1, %17 ], [ 1, %61 ], [ 1, %57 ], [ 1, %37 ], [ 1, %64 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %4) #16
  ret i32 %79
}

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smax.i32(i32, i32) #14

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smax.i64(i64, i64) #14

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #14

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umax.i64(i64, i64) #14

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #14

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(inaccessiblemem: write)
declare void @llvm.assume(i1 noundef) #15

attributes #0 = { nounwind "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #3 = { noinline nounwind "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #4 = { mustprogress nocallback nofree nosync nounwind willreturn }
attributes #5 = { nofree noinline norecurse nosync nounwind memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #6 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #7 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite) "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #8 = { nofree noinline norecurse nosync nounwind memory(argmem: readwrite) "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #9 = { nofree noinline norecurse nosync nounwind memory(read, inaccessiblemem: none, target_mem0: none, target_mem1: none) "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #10 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #11 = { nofree noinline norecurse nosync nounwind memory(read, argmem: readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #12 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #13 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: write) "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #14 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #15 = { nocallback nofree nosync nounwind willreturn memory(inaccessiblemem: write) }
attributes #16 = { nounwind }
attributes #17 = { nobuiltin "no-builtins" }
attributes #18 = { nobuiltin nounwind "no-builtins" }

!llvm.module.flags = !{!0, !1, !2}

!0 = !{i32 7, !"Dwarf Version", i32 4}
!1 = !{i32 1, !"wchar_size", i32 4}
!2 = !{i32 8, !"PIC Level", i32 2}
!4 = !{!"branch_weights", !"expected", i32 2000, i32 1}
!5 = !{!"branch_weights", !"expected", i32 1, i32 2000}
!6 = distinct !{!6, !7}
!7 = !{!"llvm.loop.mustprogress"}
!8 = distinct !{!8, !9}
!9 = !{!"llvm.loop.unroll.disable"}
!10 = !{!"branch_weights", i32 2144049393, i32 3434255}
!11 = distinct !{!11, !7}
!12 = !{!"branch_weights", !"expected", i32 0, i32 -2147483648}
!13 = distinct !{!13, !7}
!14 = !{!"branch_weights", i32 2146410443, i32 1073205}
!15 = distinct !{!15, !7}
!16 = !{!"branch_weights", !"expected", i32 2145766520, i32 1717128}
!17 = distinct !{!17, !7, !9, !18}
!18 = !{!"llvm.loop.vectorize.width", i32 1}
!19 = !{!"branch_weights", !"expected", i32 2858071, i32 2144625577}
!20 = distinct !{!20, !7, !9, !18}
!21 = distinct !{!21, !7}
!22 = !{!"branch_weights", i32 1, i32 8000, i32 2, i32 1}
!23 = distinct !{!23, !9}
!24 = distinct !{!24, !7}
!25 = distinct !{!25, !7}
!26 = distinct !{!26, !7}
!27 = distinct !{!27, !7}
!28 = distinct !{!28, !7}
!29 = distinct !{!29, !7}
!30 = distinct !{!30, !7}
!31 = !{!"branch_weights", !"expected", i32 1078537, i32 2146405111}
!32 = distinct !{!32, !7}
!33 = distinct !{!33, !7}
!34 = !{!"branch_weights", !"expected", i32 1717128, i32 2145766520}
!35 = !{!"branch_weights", i32 4000000, i32 4001}
!36 = !{!"branch_weights", i32 1, i32 2001, i32 2000}
!37 = distinct !{!37, !7}
!38 = !{!"branch_weights", !"expected", i32 2144915473, i32 2568175}
!39 = distinct !{!39, !7}
!40 = !{!"branch_weights", !"expected", i32 -2147483648, i32 0}
!41 = distinct !{!41, !7}
!42 = distinct !{!42, !7}
!43 = distinct !{!43, !7}
!44 = distinct !{!44, !7}
!45 = distinct !{!45, !7}
!46 = distinct !{!46, !7}
!47 = distinct !{!47, !7}
!48 = distinct !{!48, !7}
!49 = distinct !{!49, !7, !50}
!50 = !{!"llvm.loop.peeled.count", i32 1}
!51 = distinct !{!51, !7}
!52 = distinct !{!52, !7}
!53 = distinct !{!53, !7, !9, !18}
!54 = distinct !{!54, !7}
!55 = distinct !{!55, !9}
!56 = distinct !{!56, !7}
!57 = distinct !{!57, !7}
!58 = distinct !{!58, !7}
!59 = distinct !{!59, !9}
!60 = distinct !{!60, !7}
!61 = distinct !{!61, !7}
!62 = distinct !{!62, !7}
!63 = distinct !{!63, !7, !50}
!64 = distinct !{!64, !7}
