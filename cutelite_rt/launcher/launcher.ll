
%struct.launch_config = type { [3 x i32], [3 x i32], i64, ptr, ptr, i64 }
%struct.facts = type { [3 x i32], i32, i64, ptr, ptr, ptr, ptr }
%struct.call = type { ptr, ptr, i32, ptr, ptr, ptr, %struct.learnt }
%struct.learnt = type { ptr, i32, i32, i32, ptr, ptr }
%struct.subscript_entry = type { [5 x i64], ptr, ptr, i64 }
%struct.tensor = type { i64, i32, i32, i32, i32, ptr, ptr, i64 }
%struct.dim_row = type { i64, i64, i64, i32, i32 }
%struct.rule = type { i32, i32, i64 }
%struct.array_row = type { i16, i16, i32, ptr }
%struct.constant_row = type { i16, i16, i32 }
%struct.type_entry = type { ptr, i64, ptr, ptr }
%struct.map_entry = type { i64, [5 x i64], [5 x i64], [5 x i64], [16 x i64] }

; Function Attrs: nounwind
define ptr @launch(ptr noundef %0, ptr noundef %1, i64 noundef %2, ptr noundef %3) local_unnamed_addr #0 {
  %5 = alloca %struct.launch_config, align 8
  %6 = alloca i64, align 8
  %7 = alloca [5 x ptr], align 16
  %8 = alloca %struct.facts, align 8
  %9 = alloca %struct.call, align 8
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %11 = load ptr, ptr %10, align 8
  %12 = getelementptr inbounds nuw i8, ptr %11, i64 32
  %13 = load i64, ptr %12, align 8
  %14 = getelementptr inbounds i8, ptr %0, i64 %13
  %15 = load ptr, ptr %14, align 8
  %16 = getelementptr inbounds nuw i8, ptr %15, i64 64
  %17 = load ptr, ptr %16, align 8
  %18 = getelementptr inbounds nuw i8, ptr %15, i64 72
  %19 = load ptr, ptr %18, align 8
  %20 = getelementptr inbounds nuw i8, ptr %15, i64 80
  %21 = load ptr, ptr %20, align 8
  %22 = getelementptr inbounds nuw i8, ptr %15, i64 44
  %23 = load i32, ptr %22, align 4
  %24 = and i32 %23, 32
  %25 = icmp eq i32 %24, 0
  br i1 %25, label %36, label %26, !prof !4

26:                                               ; preds = %4
  %27 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %28 = load ptr, ptr %1, align 8
  %29 = add nsw i64 %2, -1
  %30 = getelementptr inbounds nuw i8, ptr %28, i64 8
  %31 = load ptr, ptr %30, align 8
  %32 = getelementptr inbounds nuw i8, ptr %31, i64 32
  %33 = load i64, ptr %32, align 8
  %34 = getelementptr inbounds i8, ptr %28, i64 %33
  %35 = load ptr, ptr %34, align 8
  br label %36

36:                                               ; preds = %26, %4
  %37 = phi ptr [ %35, %26 ], [ %15, %4 ]
  %38 = phi i64 [ %29, %26 ], [ %2, %4 ]
  %39 = phi ptr [ %28, %26 ], [ %0, %4 ]
  %40 = phi ptr [ %27, %26 ], [ %1, %4 ]
  %41 = getelementptr inbounds nuw i8, ptr %37, i64 32
  %42 = getelementptr inbounds nuw i8, ptr %21, i64 128
  %43 = load i32, ptr %42, align 8
  %44 = zext i32 %43 to i64
  %45 = alloca i8, i64 %44, align 64
  %46 = getelementptr inbounds nuw i8, ptr %21, i64 112
  %47 = load i32, ptr %46, align 8
  %48 = zext i32 %47 to i64
  %49 = getelementptr inbounds nuw i8, ptr %45, i64 %48
  call void @llvm.lifetime.start.p0(ptr nonnull %9) #16
  store ptr %21, ptr %9, align 8
  %50 = getelementptr inbounds nuw i8, ptr %9, i64 8
  store ptr %45, ptr %50, align 8
  %51 = getelementptr inbounds nuw i8, ptr %9, i64 16
  store i32 0, ptr %51, align 8
  %52 = getelementptr inbounds nuw i8, ptr %9, i64 20
  store i32 0, ptr %52, align 4
  %53 = getelementptr inbounds nuw i8, ptr %9, i64 24
  store ptr %19, ptr %53, align 8
  %54 = getelementptr inbounds nuw i8, ptr %9, i64 32
  store ptr %17, ptr %54, align 8
  %55 = getelementptr inbounds nuw i8, ptr %9, i64 40
  store ptr %40, ptr %55, align 8
  %56 = getelementptr inbounds nuw i8, ptr %9, i64 48
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(40) %56, i8 0, i64 40, i1 false)
  %57 = load ptr, ptr %19, align 8
  %58 = load i64, ptr %57, align 8
  %59 = icmp eq i64 %58, 0
  br i1 %59, label %60, label %553, !prof !4

60:                                               ; preds = %36
  %61 = getelementptr inbounds nuw i8, ptr %37, i64 44
  %62 = load i32, ptr %61, align 4
  %63 = and i32 %62, 13
  %64 = icmp eq i32 %63, 0
  br i1 %64, label %87, label %65, !prof !4

65:                                               ; preds = %60
  %66 = and i32 %62, 4
  %67 = icmp eq i32 %66, 0
  br i1 %67, label %77, label %68

68:                                               ; preds = %65
  %69 = getelementptr inbounds nuw i8, ptr %17, i64 72
  %70 = load ptr, ptr %69, align 8
  %71 = call fastcc ptr @forward(ptr noundef nonnull %19, ptr noundef %70, ptr noundef null, ptr noundef nonnull %39, ptr noundef %40, i64 noundef %38, ptr noundef %3) #17
  %72 = icmp eq ptr %71, null
  br i1 %72, label %73, label %75

73:                                               ; preds = %68
  %74 = call fastcc i32 @failed(ptr noundef nonnull %19) #17
  br label %553

75:                                               ; preds = %68
  %76 = getelementptr inbounds nuw i8, ptr %71, i64 32
  br label %77

77:                                               ; preds = %75, %65
  %78 = phi ptr [ %76, %75 ], [ %41, %65 ]
  %79 = phi ptr [ %71, %75 ], [ null, %65 ]
  %80 = getelementptr inbounds nuw i8, ptr %78, i64 12
  %81 = load i32, ptr %80, align 4
  %82 = and i32 %81, 9
  %83 = icmp eq i32 %82, 0
  br i1 %83, label %87, label %84

84:                                               ; preds = %77
  %85 = lshr i32 %81, 3
  %86 = and i32 %85, 1
  br label %553

87:                                               ; preds = %77, %60
  %88 = phi ptr [ %78, %77 ], [ %41, %60 ]
  %89 = phi ptr [ %79, %77 ], [ null, %60 ]
  %90 = getelementptr inbounds nuw i8, ptr %21, i64 4
  %91 = load i32, ptr %90, align 4
  %92 = zext i32 %91 to i64
  %93 = icmp ne i64 %38, %92
  %94 = icmp ne ptr %3, null
  %95 = or i1 %94, %93
  br i1 %95, label %96, label %99, !prof !5

96:                                               ; preds = %87
  store ptr %49, ptr %55, align 8
  %97 = call fastcc i32 @bind(ptr noundef %17, ptr noundef nonnull %19, ptr noundef %40, i64 noundef %38, ptr noundef %3, ptr noundef %49) #17
  %98 = icmp eq i32 %97, 0
  br i1 %98, label %147, label %553

99:                                               ; preds = %87
  %100 = getelementptr inbounds nuw i8, ptr %21, i64 20
  %101 = load i32, ptr %100, align 4
  %102 = icmp eq i32 %101, 0
  br i1 %102, label %147, label %103, !prof !4

103:                                              ; preds = %99
  store ptr %49, ptr %55, align 8
  %104 = load i32, ptr %21, align 8
  %105 = icmp eq i32 %104, 0
  br i1 %105, label %147, label %106

106:                                              ; preds = %103
  %107 = zext i32 %104 to i64
  %108 = and i64 %107, 3
  %109 = icmp ult i32 %104, 4
  br i1 %109, label %135, label %110

110:                                              ; preds = %106
  %111 = and i64 %107, 4294967292
  br label %112

112:                                              ; preds = %112, %110
  %113 = phi i64 [ 0, %110 ], [ %130, %112 ]
  %114 = phi i64 [ 0, %110 ], [ %131, %112 ]
  %115 = getelementptr inbounds nuw ptr, ptr %40, i64 %113
  %116 = load ptr, ptr %115, align 8
  %117 = getelementptr inbounds nuw ptr, ptr %49, i64 %113
  store ptr %116, ptr %117, align 8
  %118 = or disjoint i64 %113, 1
  %119 = getelementptr inbounds nuw ptr, ptr %40, i64 %118
  %120 = load ptr, ptr %119, align 8
  %121 = getelementptr inbounds nuw ptr, ptr %49, i64 %118
  store ptr %120, ptr %121, align 8
  %122 = or disjoint i64 %113, 2
  %123 = getelementptr inbounds nuw ptr, ptr %40, i64 %122
  %124 = load ptr, ptr %123, align 8
  %125 = getelementptr inbounds nuw ptr, ptr %49, i64 %122
  store ptr %124, ptr %125, align 8
  %126 = or disjoint i64 %113, 3
  %127 = getelementptr inbounds nuw ptr, ptr %40, i64 %126
  %128 = load ptr, ptr %127, align 8
  %129 = getelementptr inbounds nuw ptr, ptr %49, i64 %126
  store ptr %128, ptr %129, align 8
  %130 = add nuw nsw i64 %113, 4
  %131 = add i64 %114, 4
  %132 = icmp eq i64 %131, %111
  br i1 %132, label %133, label %112, !llvm.loop !6

133:                                              ; preds = %112
  %134 = icmp eq i64 %108, 0
  br i1 %134, label %147, label %135

135:                                              ; preds = %133, %106
  %136 = phi i64 [ 0, %106 ], [ %130, %133 ]
  %137 = icmp ne i64 %108, 0
  call void @llvm.assume(i1 %137)
  br label %138

138:                                              ; preds = %138, %135
  %139 = phi i64 [ %136, %135 ], [ %144, %138 ]
  %140 = phi i64 [ 0, %135 ], [ %145, %138 ]
  %141 = getelementptr inbounds nuw ptr, ptr %40, i64 %139
  %142 = load ptr, ptr %141, align 8
  %143 = getelementptr inbounds nuw ptr, ptr %49, i64 %139
  store ptr %142, ptr %143, align 8
  %144 = add nuw nsw i64 %139, 1
  %145 = add i64 %140, 1
  %146 = icmp eq i64 %145, %108
  br i1 %146, label %147, label %138, !llvm.loop !8

147:                                              ; preds = %133, %138, %103, %99, %96
  %148 = getelementptr inbounds nuw i8, ptr %17, i64 24
  %149 = load ptr, ptr %148, align 8
  %150 = getelementptr inbounds nuw i8, ptr %149, i64 32
  %151 = load i64, ptr %149, align 8
  %152 = icmp eq i64 %151, 0
  br i1 %152, label %175, label %153

153:                                              ; preds = %147
  %154 = getelementptr inbounds nuw i8, ptr %19, i64 272
  %155 = getelementptr inbounds nuw i8, ptr %19, i64 192
  br label %157

156:                                              ; preds = %166
  br i1 %169, label %175, label %186, !prof !10

157:                                              ; preds = %153, %166
  %158 = phi ptr [ %150, %153 ], [ %171, %166 ]
  %159 = phi i64 [ 0, %153 ], [ %170, %166 ]
  %160 = load ptr, ptr %154, align 8
  %161 = load ptr, ptr %158, align 8
  %162 = call ptr %160(ptr noundef %161) #18
  %163 = icmp eq ptr %162, null
  br i1 %163, label %166, label %164

164:                                              ; preds = %157
  %165 = load ptr, ptr %155, align 8
  call void %165(ptr noundef nonnull %162) #18
  br label %166

166:                                              ; preds = %164, %157
  %167 = getelementptr inbounds nuw i8, ptr %158, i64 8
  %168 = load ptr, ptr %167, align 8
  %169 = icmp eq ptr %162, %168
  %170 = add nuw i64 %159, 1
  %171 = getelementptr inbounds nuw i8, ptr %158, i64 16
  %172 = load i64, ptr %149, align 8
  %173 = icmp ult i64 %170, %172
  %174 = select i1 %173, i1 %169, i1 false
  br i1 %174, label %157, label %156, !llvm.loop !11

175:                                              ; preds = %147, %156
  %176 = phi ptr [ %171, %156 ], [ %150, %147 ]
  %177 = getelementptr inbounds nuw i8, ptr %19, i64 8
  %178 = load ptr, ptr %177, align 8
  %179 = load i64, ptr %178, align 8
  %180 = getelementptr inbounds nuw i8, ptr %149, i64 16
  %181 = load i64, ptr %180, align 8
  %182 = icmp eq i64 %179, %181
  br i1 %182, label %189, label %183

183:                                              ; preds = %175
  %184 = call fastcc i32 @are_globals_unchanged(ptr noundef nonnull %19, ptr noundef nonnull %149, ptr noundef nonnull %176, i64 noundef %179) #17
  %185 = icmp eq i32 %184, 0
  br i1 %185, label %186, label %189, !prof !12

186:                                              ; preds = %156, %183
  %187 = getelementptr inbounds nuw i8, ptr %19, i64 168
  %188 = load ptr, ptr %187, align 8
  call void %188() #18
  br label %553

189:                                              ; preds = %175, %183
  %190 = getelementptr inbounds nuw i8, ptr %21, i64 48
  %191 = load i32, ptr %190, align 8
  %192 = icmp eq i32 %191, 0
  br i1 %192, label %213, label %193, !prof !4

193:                                              ; preds = %189
  %194 = getelementptr inbounds nuw i8, ptr %21, i64 40
  %195 = load i32, ptr %194, align 8
  %196 = icmp eq i32 %195, 0
  br i1 %196, label %213, label %197

197:                                              ; preds = %193, %197
  %198 = phi i64 [ %209, %197 ], [ 0, %193 ]
  %199 = load ptr, ptr %50, align 8
  %200 = load ptr, ptr %9, align 8
  %201 = getelementptr inbounds nuw i8, ptr %200, i64 116
  %202 = load i32, ptr %201, align 4
  %203 = zext i32 %202 to i64
  %204 = getelementptr inbounds nuw i8, ptr %199, i64 %203
  %205 = shl nuw nsw i64 %198, 1
  %206 = and i64 %205, 4294967294
  %207 = getelementptr inbounds nuw i64, ptr %204, i64 %206
  %208 = getelementptr inbounds nuw i8, ptr %207, i64 8
  store i64 0, ptr %208, align 8
  %209 = add nuw nsw i64 %198, 1
  %210 = load i32, ptr %194, align 8
  %211 = zext i32 %210 to i64
  %212 = icmp samesign ult i64 %209, %211
  br i1 %212, label %197, label %213, !llvm.loop !13

213:                                              ; preds = %197, %193, %189
  %214 = getelementptr inbounds nuw i8, ptr %21, i64 20
  %215 = load i32, ptr %214, align 4
  %216 = icmp eq i32 %215, 0
  %217 = load ptr, ptr %9, align 8
  br i1 %216, label %228, label %218, !prof !4

218:                                              ; preds = %213
  %219 = load ptr, ptr %50, align 8
  %220 = getelementptr inbounds nuw i8, ptr %217, i64 124
  %221 = load i32, ptr %220, align 4
  %222 = zext i32 %221 to i64
  %223 = getelementptr inbounds nuw i8, ptr %219, i64 %222
  %224 = call fastcc i32 @fetch(ptr noundef %17, ptr noundef nonnull %19, ptr noundef %49, ptr noundef %223) #17
  %225 = icmp eq i32 %224, 0
  br i1 %225, label %226, label %530, !prof !14

226:                                              ; preds = %218
  %227 = load ptr, ptr %9, align 8
  br label %228

228:                                              ; preds = %226, %213
  %229 = phi ptr [ %227, %226 ], [ %217, %213 ]
  %230 = load ptr, ptr %53, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %8) #16
  %231 = call fastcc i32 @arrays(ptr noundef nonnull %9) #17
  %232 = icmp eq i32 %231, 0
  br i1 %232, label %233, label %522, !prof !4

233:                                              ; preds = %228
  %234 = getelementptr inbounds nuw i8, ptr %9, i64 60
  %235 = load i32, ptr %234, align 4
  %236 = icmp eq i32 %235, 0
  br i1 %236, label %240, label %237, !prof !4

237:                                              ; preds = %233
  %238 = call fastcc i32 @read_others(ptr noundef nonnull %9, ptr noundef %88) #17
  %239 = icmp eq i32 %238, 0
  br i1 %239, label %240, label %522

240:                                              ; preds = %237, %233
  %241 = getelementptr inbounds nuw i8, ptr %88, i64 12
  %242 = load i32, ptr %241, align 4
  %243 = and i32 %242, 2
  %244 = icmp eq i32 %243, 0
  br i1 %244, label %249, label %245

245:                                              ; preds = %240
  %246 = getelementptr inbounds nuw i8, ptr %88, i64 24
  %247 = load ptr, ptr %246, align 8
  %248 = getelementptr inbounds nuw i8, ptr %9, i64 80
  store ptr %247, ptr %248, align 8
  br label %264

249:                                              ; preds = %240
  %250 = getelementptr inbounds nuw i8, ptr %9, i64 64
  %251 = load i32, ptr %250, align 8
  %252 = icmp eq i32 %251, 0
  br i1 %252, label %253, label %264, !prof !4

253:                                              ; preds = %249
  %254 = load ptr, ptr %56, align 8
  %255 = icmp eq ptr %254, null
  br i1 %255, label %264, label %256, !prof !5

256:                                              ; preds = %253
  %257 = getelementptr inbounds nuw i8, ptr %9, i64 56
  %258 = load i32, ptr %257, align 8
  %259 = getelementptr inbounds nuw i8, ptr %9, i64 80
  %260 = call i32 %254(i32 noundef 2, i32 noundef %258, ptr noundef nonnull %259) #18
  %261 = icmp eq i32 %260, 0
  br i1 %261, label %264, label %262

262:                                              ; preds = %256
  %263 = call fastcc i32 @failed(ptr noundef %230) #17
  br label %522

264:                                              ; preds = %256, %253, %249, %245
  %265 = load ptr, ptr %50, align 8
  %266 = load ptr, ptr %9, align 8
  %267 = getelementptr inbounds nuw i8, ptr %266, i64 96
  %268 = load i32, ptr %267, align 8
  %269 = zext i32 %268 to i64
  %270 = getelementptr inbounds nuw i8, ptr %265, i64 %269
  %271 = getelementptr inbounds nuw i8, ptr %229, i64 56
  %272 = load i32, ptr %271, align 8
  %273 = icmp eq i32 %272, 0
  br i1 %273, label %323, label %274, !prof !4

274:                                              ; preds = %264
  %275 = getelementptr inbounds nuw i8, ptr %229, i64 24
  %276 = load i32, ptr %275, align 8
  %277 = icmp eq i32 %276, 0
  br i1 %277, label %280, label %278

278:                                              ; preds = %274
  %279 = getelementptr inbounds nuw i8, ptr %229, i64 28
  br label %283

280:                                              ; preds = %283, %274
  %281 = call fastcc i32 @constants(ptr noundef nonnull %9) #17
  %282 = icmp eq i32 %281, 0
  br i1 %282, label %310, label %522

283:                                              ; preds = %278, %283
  %284 = phi i64 [ 0, %278 ], [ %306, %283 ]
  %285 = load ptr, ptr %50, align 8
  %286 = load ptr, ptr %9, align 8
  %287 = getelementptr inbounds nuw i8, ptr %286, i64 124
  %288 = load i32, ptr %287, align 4
  %289 = zext i32 %288 to i64
  %290 = getelementptr inbounds nuw i8, ptr %285, i64 %289
  %291 = getelementptr inbounds nuw i8, ptr %290, i64 %284
  %292 = load i8, ptr %291, align 1
  %293 = getelementptr inbounds nuw i8, ptr %286, i64 96
  %294 = load i32, ptr %293, align 8
  %295 = zext i32 %294 to i64
  %296 = getelementptr inbounds nuw i8, ptr %285, i64 %295
  %297 = getelementptr inbounds nuw i8, ptr %286, i64 72
  %298 = load i32, ptr %297, align 8
  %299 = zext i32 %298 to i64
  %300 = getelementptr inbounds nuw i8, ptr %296, i64 %299
  %301 = load i32, ptr %279, align 4
  %302 = trunc nuw i64 %284 to i32
  %303 = add i32 %301, %302
  %304 = zext i32 %303 to i64
  %305 = getelementptr inbounds nuw i8, ptr %300, i64 %304
  store i8 %292, ptr %305, align 1
  %306 = add nuw nsw i64 %284, 1
  %307 = load i32, ptr %275, align 8
  %308 = zext i32 %307 to i64
  %309 = icmp samesign ult i64 %306, %308
  br i1 %309, label %283, label %280, !llvm.loop !15

310:                                              ; preds = %280
  %311 = getelementptr inbounds nuw i8, ptr %229, i64 48
  %312 = load i32, ptr %311, align 8
  %313 = icmp eq i32 %312, 0
  br i1 %313, label %317, label %314

314:                                              ; preds = %310
  %315 = call fastcc i32 @unsure_dims(ptr noundef nonnull %9) #17
  %316 = icmp eq i32 %315, 0
  br i1 %316, label %317, label %522

317:                                              ; preds = %314, %310
  %318 = load i32, ptr %51, align 8
  %319 = icmp eq i32 %318, 0
  br i1 %319, label %323, label %320

320:                                              ; preds = %317
  %321 = call fastcc i32 @agree(ptr noundef nonnull %9) #17
  %322 = icmp eq i32 %321, 0
  br i1 %322, label %323, label %522

323:                                              ; preds = %320, %317, %264
  %324 = call fastcc i32 @numbers(ptr noundef nonnull %9) #17
  %325 = icmp eq i32 %324, 0
  br i1 %325, label %326, label %522, !prof !4

326:                                              ; preds = %323
  %327 = load i32, ptr %241, align 4
  %328 = and i32 %327, 16
  %329 = icmp eq i32 %328, 0
  br i1 %329, label %336, label %330, !prof !4

330:                                              ; preds = %326
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(56) %8, ptr noundef nonnull align 8 dereferenceable(56) %88, i64 56, i1 false)
  %331 = call fastcc i32 @grid_of_dims(ptr noundef nonnull %9, ptr noundef %8) #17
  %332 = icmp eq i32 %331, 0
  br i1 %332, label %336, label %333

333:                                              ; preds = %330
  %334 = icmp eq i32 %331, 4
  %335 = select i1 %334, i32 0, i32 %331
  br label %522

336:                                              ; preds = %330, %326
  %337 = phi ptr [ %88, %326 ], [ %8, %330 ]
  %338 = getelementptr inbounds nuw i8, ptr %337, i64 16
  %339 = load i64, ptr %338, align 8
  store i64 %339, ptr %270, align 8
  %340 = getelementptr inbounds nuw i8, ptr %270, i64 8
  store i64 0, ptr %340, align 8
  %341 = getelementptr inbounds nuw i8, ptr %230, i64 64
  %342 = load ptr, ptr %341, align 8
  %343 = call i32 %342(ptr noundef null, ptr noundef nonnull %340) #18
  %344 = icmp eq i32 %343, 0
  br i1 %344, label %346, label %345, !prof !4

345:                                              ; preds = %336
  store i64 0, ptr %340, align 8
  br label %346

346:                                              ; preds = %345, %336
  %347 = load ptr, ptr %54, align 8
  %348 = getelementptr inbounds nuw i8, ptr %347, i64 16
  %349 = load ptr, ptr %348, align 8
  %350 = getelementptr inbounds nuw i8, ptr %349, i64 16
  %351 = load ptr, ptr %350, align 8
  %352 = getelementptr inbounds nuw i8, ptr %229, i64 76
  %353 = load i32, ptr %352, align 4
  %354 = zext i32 %353 to i64
  %355 = getelementptr inbounds nuw i8, ptr %351, i64 %354
  %356 = getelementptr inbounds nuw i8, ptr %229, i64 68
  %357 = load i32, ptr %356, align 4
  %358 = icmp eq i32 %357, 0
  br i1 %358, label %376, label %359

359:                                              ; preds = %346
  %360 = zext i32 %357 to i64
  br label %363

361:                                              ; preds = %363
  %362 = icmp eq i64 %371, 0
  br i1 %362, label %379, label %374, !prof !16

363:                                              ; preds = %359, %363
  %364 = phi i64 [ 0, %359 ], [ %372, %363 ]
  %365 = phi i64 [ 0, %359 ], [ %371, %363 ]
  %366 = getelementptr inbounds nuw i64, ptr %270, i64 %364
  %367 = load i64, ptr %366, align 8
  %368 = getelementptr inbounds nuw i64, ptr %355, i64 %364
  %369 = load i64, ptr %368, align 8
  %370 = xor i64 %369, %367
  %371 = or i64 %370, %365
  %372 = add nuw nsw i64 %364, 1
  %373 = icmp eq i64 %372, %360
  br i1 %373, label %361, label %363, !llvm.loop !17

374:                                              ; preds = %361
  %375 = call fastcc ptr @search(ptr noundef nonnull %229, ptr noundef nonnull %349, ptr noundef nonnull %270) #17
  br label %376

376:                                              ; preds = %346, %374
  %377 = phi ptr [ %375, %374 ], [ %351, %346 ]
  %378 = icmp eq ptr %377, null
  br i1 %378, label %522, label %379, !prof !19

379:                                              ; preds = %361, %376
  %380 = phi ptr [ %377, %376 ], [ %351, %361 ]
  %381 = getelementptr inbounds nuw i8, ptr %349, i64 8
  %382 = load i64, ptr %381, align 8
  %383 = add i64 %382, 1
  store i64 %383, ptr %381, align 8
  %384 = getelementptr inbounds nuw i8, ptr %229, i64 52
  %385 = load i32, ptr %384, align 4
  %386 = icmp eq i32 %385, 0
  br i1 %386, label %390, label %387

387:                                              ; preds = %379
  %388 = call fastcc i32 @make(ptr noundef nonnull %9, ptr noundef nonnull %380) #17
  %389 = icmp eq i32 %388, 0
  br i1 %389, label %390, label %526, !prof !4

390:                                              ; preds = %387, %379
  %391 = call ptr @llvm.stacksave.p0()
  %392 = load ptr, ptr %9, align 8
  %393 = getelementptr inbounds nuw i8, ptr %392, i64 92
  %394 = load i32, ptr %393, align 4
  %395 = add i32 %394, 1
  %396 = zext i32 %395 to i64
  %397 = alloca ptr, i64 %396, align 16
  %398 = load ptr, ptr %50, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %5) #16
  %399 = getelementptr inbounds nuw i8, ptr %392, i64 80
  %400 = load i32, ptr %399, align 8
  %401 = zext i32 %400 to i64
  %402 = getelementptr inbounds nuw i8, ptr %380, i64 %401
  %403 = getelementptr inbounds nuw i8, ptr %380, i64 72
  %404 = load i64, ptr %403, align 8
  %405 = shl nuw nsw i64 %404, 3
  %406 = getelementptr inbounds nuw i8, ptr %402, i64 %405
  call void @llvm.lifetime.start.p0(ptr nonnull %6) #16
  %407 = getelementptr inbounds nuw i8, ptr %380, i64 92
  %408 = load i32, ptr %407, align 4
  %409 = zext i32 %408 to i64
  store i64 %409, ptr %6, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %7) #16
  store ptr inttoptr (i64 1 to ptr), ptr %7, align 16
  %410 = getelementptr inbounds nuw i8, ptr %7, i64 8
  store ptr %397, ptr %410, align 8
  %411 = getelementptr inbounds nuw i8, ptr %7, i64 16
  store ptr inttoptr (i64 2 to ptr), ptr %411, align 16
  %412 = getelementptr inbounds nuw i8, ptr %7, i64 24
  store ptr %6, ptr %412, align 8
  %413 = getelementptr inbounds nuw i8, ptr %7, i64 32
  store ptr null, ptr %413, align 16
  %414 = getelementptr inbounds nuw i8, ptr %380, i64 32
  %415 = load i32, ptr %414, align 8
  switch i32 %415, label %418 [
    i32 2, label %424
    i32 0, label %416
  ], !prof !20

416:                                              ; preds = %390
  %417 = load i32, ptr %337, align 4
  br label %440

418:                                              ; preds = %390
  %419 = getelementptr inbounds nuw i8, ptr %380, i64 80
  %420 = load i32, ptr %337, align 4
  %421 = load i32, ptr %419, align 4
  %422 = urem i32 %420, %421
  %423 = icmp eq i32 %422, 0
  br i1 %423, label %426, label %524

424:                                              ; preds = %390
  %425 = call fastcc i32 @submit_all(ptr noundef nonnull %9, ptr noundef nonnull %380) #17
  br label %524

426:                                              ; preds = %418
  %427 = getelementptr inbounds nuw i8, ptr %337, i64 4
  %428 = load i32, ptr %427, align 4
  %429 = getelementptr inbounds nuw i8, ptr %380, i64 84
  %430 = load i32, ptr %429, align 4
  %431 = urem i32 %428, %430
  %432 = icmp eq i32 %431, 0
  br i1 %432, label %433, label %524

433:                                              ; preds = %426
  %434 = getelementptr inbounds nuw i8, ptr %337, i64 8
  %435 = load i32, ptr %434, align 4
  %436 = getelementptr inbounds nuw i8, ptr %380, i64 88
  %437 = load i32, ptr %436, align 4
  %438 = urem i32 %435, %437
  %439 = icmp eq i32 %438, 0
  br i1 %439, label %440, label %524

440:                                              ; preds = %433, %416
  %441 = phi i32 [ %417, %416 ], [ %420, %433 ]
  %442 = getelementptr inbounds nuw i8, ptr %380, i64 36
  %443 = getelementptr inbounds nuw i8, ptr %5, i64 12
  store i32 %441, ptr %5, align 8
  %444 = load i32, ptr %442, align 4
  store i32 %444, ptr %443, align 4
  %445 = getelementptr inbounds nuw i8, ptr %337, i64 4
  %446 = load i32, ptr %445, align 4
  %447 = getelementptr inbounds nuw i8, ptr %5, i64 4
  store i32 %446, ptr %447, align 4
  %448 = getelementptr inbounds nuw i8, ptr %380, i64 40
  %449 = load i32, ptr %448, align 4
  %450 = getelementptr inbounds nuw i8, ptr %5, i64 16
  store i32 %449, ptr %450, align 8
  %451 = getelementptr inbounds nuw i8, ptr %337, i64 8
  %452 = load i32, ptr %451, align 4
  %453 = getelementptr inbounds nuw i8, ptr %5, i64 8
  store i32 %452, ptr %453, align 8
  %454 = getelementptr inbounds nuw i8, ptr %380, i64 44
  %455 = load i32, ptr %454, align 4
  %456 = getelementptr inbounds nuw i8, ptr %5, i64 20
  store i32 %455, ptr %456, align 4
  %457 = getelementptr inbounds nuw i8, ptr %380, i64 48
  %458 = load i64, ptr %457, align 8
  %459 = getelementptr inbounds nuw i8, ptr %5, i64 24
  store i64 %458, ptr %459, align 8
  %460 = getelementptr inbounds nuw i8, ptr %9, i64 80
  %461 = load ptr, ptr %460, align 8
  %462 = getelementptr inbounds nuw i8, ptr %5, i64 32
  store ptr %461, ptr %462, align 8
  %463 = getelementptr inbounds nuw i8, ptr %380, i64 56
  %464 = load ptr, ptr %463, align 8
  %465 = getelementptr inbounds nuw i8, ptr %5, i64 40
  store ptr %464, ptr %465, align 8
  %466 = getelementptr inbounds nuw i8, ptr %380, i64 64
  %467 = load i64, ptr %466, align 8
  %468 = getelementptr inbounds nuw i8, ptr %5, i64 48
  store i64 %467, ptr %468, align 8
  %469 = icmp eq i32 %408, 0
  %470 = icmp eq i64 %404, 0
  br i1 %469, label %472, label %471, !prof !5

471:                                              ; preds = %440
  br i1 %470, label %494, label %473

472:                                              ; preds = %440
  br i1 %470, label %494, label %485

473:                                              ; preds = %471, %473
  %474 = phi ptr [ %483, %473 ], [ %402, %471 ]
  %475 = load i32, ptr %474, align 4
  %476 = zext i32 %475 to i64
  %477 = getelementptr inbounds nuw i8, ptr %398, i64 %476
  %478 = load i64, ptr %477, align 8
  %479 = getelementptr inbounds nuw i8, ptr %474, i64 4
  %480 = load i32, ptr %479, align 4
  %481 = zext i32 %480 to i64
  %482 = getelementptr inbounds nuw i8, ptr %397, i64 %481
  store i64 %478, ptr %482, align 1
  %483 = getelementptr inbounds nuw i8, ptr %474, i64 8
  %484 = icmp ult ptr %483, %406
  br i1 %484, label %473, label %494, !llvm.loop !21

485:                                              ; preds = %472, %485
  %486 = phi ptr [ %492, %485 ], [ %402, %472 ]
  %487 = phi ptr [ %491, %485 ], [ %397, %472 ]
  %488 = load i32, ptr %486, align 4
  %489 = zext i32 %488 to i64
  %490 = getelementptr inbounds nuw i8, ptr %398, i64 %489
  %491 = getelementptr inbounds nuw i8, ptr %487, i64 8
  store ptr %490, ptr %487, align 8
  %492 = getelementptr inbounds nuw i8, ptr %486, i64 8
  %493 = icmp ult ptr %492, %406
  br i1 %493, label %485, label %494, !llvm.loop !22

494:                                              ; preds = %473, %485, %471, %472
  %495 = phi ptr [ null, %472 ], [ %7, %471 ], [ null, %485 ], [ %7, %473 ]
  %496 = phi ptr [ %397, %472 ], [ null, %471 ], [ %397, %485 ], [ null, %473 ]
  %497 = getelementptr inbounds nuw i8, ptr %380, i64 16
  %498 = load i64, ptr %497, align 8
  %499 = getelementptr inbounds nuw i8, ptr %392, i64 96
  %500 = load i32, ptr %499, align 8
  %501 = zext i32 %500 to i64
  %502 = getelementptr inbounds nuw i8, ptr %398, i64 %501
  %503 = getelementptr inbounds nuw i8, ptr %502, i64 8
  %504 = load i64, ptr %503, align 8
  %505 = icmp eq i64 %498, %504
  %506 = load ptr, ptr %53, align 8
  br i1 %505, label %507, label %520, !prof !4

507:                                              ; preds = %494
  %508 = getelementptr inbounds nuw i8, ptr %506, i64 72
  %509 = load ptr, ptr %508, align 8
  %510 = call ptr %509() #18
  %511 = getelementptr inbounds nuw i8, ptr %506, i64 80
  %512 = load ptr, ptr %511, align 8
  %513 = getelementptr inbounds nuw i8, ptr %380, i64 24
  %514 = load ptr, ptr %513, align 8
  %515 = call i32 %512(ptr noundef nonnull %5, ptr noundef %514, ptr noundef %496, ptr noundef %495) #18
  %516 = getelementptr inbounds nuw i8, ptr %506, i64 88
  %517 = load ptr, ptr %516, align 8
  call void %517(ptr noundef %510) #18
  %518 = icmp ne i32 %515, 0
  %519 = zext i1 %518 to i32
  br label %524

520:                                              ; preds = %494
  %521 = call fastcc i32 @submit_there(ptr noundef %506, ptr noundef %5, ptr noundef nonnull %380, ptr noundef %496, ptr noundef %495) #17
  br label %524

522:                                              ; preds = %376, %333, %323, %320, %314, %280, %262, %237, %228
  %523 = phi i32 [ 2, %376 ], [ %335, %333 ], [ 1, %320 ], [ 1, %314 ], [ %281, %280 ], [ %324, %323 ], [ %238, %237 ], [ %231, %228 ], [ %263, %262 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %8) #16
  br i1 %216, label %553, label %530, !prof !4

524:                                              ; preds = %507, %520, %433, %426, %418, %424
  %525 = phi i32 [ %425, %424 ], [ %521, %520 ], [ %519, %507 ], [ 1, %433 ], [ 1, %426 ], [ 1, %418 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %7) #16
  call void @llvm.lifetime.end.p0(ptr nonnull %6) #16
  call void @llvm.lifetime.end.p0(ptr nonnull %5) #16
  call void @llvm.stackrestore.p0(ptr %391)
  br label %526

526:                                              ; preds = %524, %387
  %527 = phi i32 [ %388, %387 ], [ %525, %524 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %8) #16
  %528 = load i64, ptr %381, align 8
  %529 = add i64 %528, -1
  store i64 %529, ptr %381, align 8
  br i1 %216, label %553, label %530, !prof !4

530:                                              ; preds = %218, %526, %522
  %531 = phi i32 [ %527, %526 ], [ %224, %218 ], [ %523, %522 ]
  %532 = load i32, ptr %21, align 8
  %533 = getelementptr inbounds nuw i8, ptr %21, i64 16
  %534 = load i32, ptr %533, align 8
  %535 = icmp ult i32 %532, %534
  br i1 %535, label %536, label %553

536:                                              ; preds = %530
  %537 = getelementptr inbounds nuw i8, ptr %19, i64 192
  %538 = zext i32 %532 to i64
  br label %539

539:                                              ; preds = %536, %548
  %540 = phi i32 [ %534, %536 ], [ %549, %548 ]
  %541 = phi i64 [ %538, %536 ], [ %550, %548 ]
  %542 = getelementptr inbounds nuw ptr, ptr %49, i64 %541
  %543 = load ptr, ptr %542, align 8
  %544 = icmp eq ptr %543, null
  br i1 %544, label %548, label %545

545:                                              ; preds = %539
  %546 = load ptr, ptr %537, align 8
  call void %546(ptr noundef nonnull %543) #18
  %547 = load i32, ptr %533, align 8
  br label %548

548:                                              ; preds = %539, %545
  %549 = phi i32 [ %540, %539 ], [ %547, %545 ]
  %550 = add nuw nsw i64 %541, 1
  %551 = zext i32 %549 to i64
  %552 = icmp samesign ult i64 %550, %551
  br i1 %552, label %539, label %553, !llvm.loop !23

553:                                              ; preds = %548, %530, %36, %84, %96, %186, %73, %526, %522
  %554 = phi ptr [ %89, %526 ], [ null, %73 ], [ %89, %530 ], [ %89, %522 ], [ null, %36 ], [ %79, %84 ], [ %89, %96 ], [ %89, %186 ], [ %89, %548 ]
  %555 = phi i32 [ %527, %526 ], [ %74, %73 ], [ %531, %530 ], [ %523, %522 ], [ 1, %36 ], [ %86, %84 ], [ 1, %96 ], [ 1, %186 ], [ %531, %548 ]
  %556 = getelementptr inbounds nuw i8, ptr %9, i64 72
  %557 = load ptr, ptr %556, align 8
  %558 = icmp eq ptr %557, null
  br i1 %558, label %562, label %559, !prof !4

559:                                              ; preds = %553
  %560 = getelementptr inbounds nuw i8, ptr %19, i64 192
  %561 = load ptr, ptr %560, align 8
  call void %561(ptr noundef nonnull %557) #18
  br label %562

562:                                              ; preds = %559, %553
  %563 = icmp eq ptr %554, null
  br i1 %563, label %567, label %564, !prof !4

564:                                              ; preds = %562
  %565 = getelementptr inbounds nuw i8, ptr %19, i64 192
  %566 = load ptr, ptr %565, align 8
  call void %566(ptr noundef nonnull %554) #18
  br label %567

567:                                              ; preds = %564, %562
  switch i32 %555, label %587 [
    i32 0, label %568
    i32 3, label %590
    i32 2, label %580
  ], !prof !24

568:                                              ; preds = %567
  %569 = getelementptr inbounds nuw i8, ptr %19, i64 104
  %570 = load i64, ptr %569, align 8
  %571 = icmp eq i64 %570, 0
  br i1 %571, label %577, label %572, !prof !4

572:                                              ; preds = %568
  %573 = getelementptr inbounds nuw i8, ptr %19, i64 184
  %574 = load ptr, ptr %573, align 8
  %575 = getelementptr inbounds nuw i8, ptr %19, i64 96
  %576 = load ptr, ptr %575, align 8
  call void %574(ptr noundef %576) #18
  br label %577

577:                                              ; preds = %572, %568
  %578 = getelementptr inbounds nuw i8, ptr %19, i64 96
  %579 = load ptr, ptr %578, align 8
  br label %590

580:                                              ; preds = %567
  %581 = load ptr, ptr %50, align 8
  %582 = load ptr, ptr %9, align 8
  %583 = getelementptr inbounds nuw i8, ptr %582, i64 96
  %584 = load i32, ptr %583, align 8
  %585 = zext i32 %584 to i64
  %586 = getelementptr inbounds nuw i8, ptr %581, i64 %585
  br label %587

587:                                              ; preds = %567, %580
  %588 = phi ptr [ %586, %580 ], [ null, %567 ]
  %589 = call fastcc ptr @anew(ptr noundef %17, ptr noundef %588, ptr noundef %39, ptr noundef %40, i64 noundef %38, ptr noundef %3) #17
  br label %590

590:                                              ; preds = %567, %587, %577
  %591 = phi ptr [ %579, %577 ], [ %589, %587 ], [ null, %567 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %9) #16
  ret ptr %591
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
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 208
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
  br i1 %41, label %42, label %32, !llvm.loop !25

42:                                               ; preds = %27, %32, %13
  %43 = getelementptr inbounds nuw i8, ptr %0, i64 224
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
  br i1 %95, label %27, label %51, !llvm.loop !26
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 1, 4) i32 @failed(ptr noundef readonly captures(none) %0) unnamed_addr #3 {
  %2 = getelementptr inbounds nuw i8, ptr %0, i64 160
  %3 = load ptr, ptr %2, align 8
  %4 = tail call ptr %3() #18
  %5 = icmp eq ptr %4, null
  br i1 %5, label %16, label %6

6:                                                ; preds = %1
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 176
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 344
  %10 = load ptr, ptr %9, align 8
  %11 = tail call i32 %8(ptr noundef %10) #18
  %12 = icmp eq i32 %11, 0
  br i1 %12, label %16, label %13

13:                                               ; preds = %6
  %14 = getelementptr inbounds nuw i8, ptr %0, i64 168
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
  br i1 %30, label %18, label %16, !llvm.loop !27

31:                                               ; preds = %16
  %32 = getelementptr inbounds nuw i8, ptr %1, i64 208
  %33 = load ptr, ptr %32, align 8
  %34 = tail call i64 %33(ptr noundef nonnull %4) #18
  %35 = icmp sgt i64 %34, 0
  br i1 %35, label %36, label %41

36:                                               ; preds = %31
  %37 = getelementptr inbounds nuw i8, ptr %1, i64 200
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
  br i1 %63, label %97, label %56, !llvm.loop !28

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
  br i1 %78, label %41, label %45, !llvm.loop !29

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
  br i1 %96, label %79, label %97, !llvm.loop !30

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
  %23 = getelementptr inbounds nuw i8, ptr %1, i64 248
  %24 = getelementptr inbounds nuw i8, ptr %1, i64 112
  %25 = getelementptr inbounds nuw i8, ptr %1, i64 336
  %26 = getelementptr inbounds nuw i8, ptr %1, i64 240
  %27 = getelementptr inbounds nuw i8, ptr %0, i64 96
  %28 = getelementptr inbounds nuw i8, ptr %1, i64 256
  %29 = getelementptr inbounds nuw i8, ptr %1, i64 96
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
  br i1 %38, label %30, label %20, !llvm.loop !31

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
  br i1 %138, label %39, label %141, !llvm.loop !32

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
  %10 = getelementptr inbounds nuw i8, ptr %7, i64 96
  %11 = load ptr, ptr %10, align 8
  %12 = icmp eq ptr %11, null
  br i1 %12, label %34, label %24

13:                                               ; preds = %6
  %14 = getelementptr inbounds nuw i8, ptr %7, i64 216
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
  %25 = getelementptr inbounds nuw i8, ptr %7, i64 184
  %26 = load ptr, ptr %25, align 8
  tail call void %26(ptr noundef nonnull %11) #18
  br label %27

27:                                               ; preds = %13, %24
  %28 = phi ptr [ %22, %13 ], [ %11, %24 ]
  %29 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %30 = load ptr, ptr %29, align 8
  %31 = tail call fastcc ptr @forward(ptr noundef nonnull %7, ptr noundef %30, ptr noundef nonnull %28, ptr noundef %2, ptr noundef %3, i64 noundef %4, ptr noundef %5) #17
  %32 = getelementptr inbounds nuw i8, ptr %7, i64 192
  %33 = load ptr, ptr %32, align 8
  tail call void %33(ptr noundef nonnull %28) #18
  br label %34

34:                                               ; preds = %13, %9, %27
  %35 = phi ptr [ %31, %27 ], [ null, %9 ], [ null, %13 ]
  ret ptr %35
}

; Function Attrs: nounwind
define ptr @subscript(ptr noundef readonly captures(none) %0, ptr noundef %1, i64 noundef %2, ptr noundef %3) local_unnamed_addr #0 {
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %6 = load ptr, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %6, i64 32
  %8 = load i64, ptr %7, align 8
  %9 = getelementptr inbounds i8, ptr %0, i64 %8
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr inbounds nuw i8, ptr %10, i64 32
  %12 = getelementptr inbounds nuw i8, ptr %10, i64 56
  %13 = load ptr, ptr %12, align 8
  %14 = icmp eq i64 %2, 1
  %15 = icmp eq ptr %3, null
  %16 = and i1 %14, %15
  br i1 %16, label %17, label %70, !prof !4

17:                                               ; preds = %4
  %18 = load ptr, ptr %1, align 8
  %19 = load ptr, ptr %11, align 8
  %20 = getelementptr inbounds nuw i8, ptr %19, i64 112
  %21 = load ptr, ptr %20, align 8
  %22 = getelementptr inbounds nuw i8, ptr %18, i64 8
  %23 = load ptr, ptr %22, align 8
  %24 = icmp eq ptr %23, %21
  br i1 %24, label %25, label %55

25:                                               ; preds = %17
  %26 = getelementptr inbounds nuw i8, ptr %13, i64 48
  %27 = load ptr, ptr %26, align 8
  %28 = getelementptr inbounds nuw i8, ptr %27, i64 8
  %29 = load ptr, ptr %28, align 8
  %30 = icmp eq ptr %29, %21
  br i1 %30, label %31, label %55

31:                                               ; preds = %25
  %32 = getelementptr inbounds nuw i8, ptr %18, i64 16
  %33 = load i64, ptr %32, align 8
  %34 = icmp eq i64 %33, 2
  br i1 %34, label %35, label %55

35:                                               ; preds = %31
  %36 = getelementptr inbounds nuw i8, ptr %27, i64 16
  %37 = load i64, ptr %36, align 8
  %38 = icmp eq i64 %37, 2
  br i1 %38, label %39, label %55

39:                                               ; preds = %35
  %40 = getelementptr inbounds nuw i8, ptr %23, i64 32
  %41 = load i64, ptr %40, align 8
  %42 = getelementptr inbounds i8, ptr %18, i64 %41
  %43 = load ptr, ptr %42, align 8
  %44 = getelementptr inbounds nuw i8, ptr %29, i64 32
  %45 = load i64, ptr %44, align 8
  %46 = getelementptr inbounds i8, ptr %27, i64 %45
  %47 = load ptr, ptr %46, align 8
  %48 = icmp eq ptr %43, %47
  br i1 %48, label %49, label %55

49:                                               ; preds = %39
  %50 = getelementptr inbounds nuw i8, ptr %42, i64 8
  %51 = load ptr, ptr %50, align 8
  %52 = getelementptr inbounds nuw i8, ptr %46, i64 8
  %53 = load ptr, ptr %52, align 8
  %54 = icmp eq ptr %51, %53
  br i1 %54, label %64, label %55

55:                                               ; preds = %17, %25, %31, %35, %39, %49
  %56 = tail call fastcc ptr @found(ptr noundef nonnull %11, ptr noundef nonnull %18) #17
  %57 = icmp eq ptr %56, null
  br i1 %57, label %70, label %58, !prof !33

58:                                               ; preds = %55
  %59 = getelementptr inbounds nuw i8, ptr %56, i64 40
  %60 = load ptr, ptr %59, align 8
  %61 = load i32, ptr %60, align 8
  %62 = add i32 %61, 1
  store i32 %62, ptr %60, align 8
  %63 = load ptr, ptr %59, align 8
  br label %77

64:                                               ; preds = %49
  %65 = getelementptr inbounds nuw i8, ptr %13, i64 40
  %66 = load ptr, ptr %65, align 8
  %67 = load i32, ptr %66, align 8
  %68 = add i32 %67, 1
  store i32 %68, ptr %66, align 8
  %69 = load ptr, ptr %65, align 8
  br label %77

70:                                               ; preds = %55, %4
  %71 = load ptr, ptr %11, align 8
  %72 = getelementptr inbounds nuw i8, ptr %71, i64 224
  %73 = load ptr, ptr %72, align 8
  %74 = getelementptr inbounds nuw i8, ptr %10, i64 48
  %75 = load ptr, ptr %74, align 8
  %76 = tail call ptr %73(ptr noundef %75, ptr noundef %1, i64 noundef %2, ptr noundef %3) #18
  br label %77

77:                                               ; preds = %64, %58, %70
  %78 = phi ptr [ %76, %70 ], [ %69, %64 ], [ %63, %58 ]
  ret ptr %78
}

; Function Attrs: noinline nounwind
define internal fastcc noundef ptr @found(ptr noundef captures(none) %0, ptr noundef %1) unnamed_addr #3 {
  %3 = alloca [5 x i64], align 16
  call void @llvm.lifetime.start.p0(ptr nonnull %3) #16
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 16 dereferenceable(40) %3, i8 0, i64 40, i1 false)
  %4 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %5 = load ptr, ptr %4, align 8
  %6 = load ptr, ptr %0, align 8
  %7 = getelementptr inbounds nuw i8, ptr %6, i64 112
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
  br i1 %17, label %22, label %123

18:                                               ; preds = %10
  %19 = icmp eq i64 %12, 1
  %20 = icmp sgt i64 %12, 3
  %21 = or i1 %19, %20
  br i1 %21, label %123, label %25

22:                                               ; preds = %14
  %23 = call fastcc i32 @shape_of(ptr noundef nonnull %6, ptr noundef nonnull %1, ptr noundef %3) #17
  %24 = icmp eq i32 %23, 0
  br i1 %24, label %45, label %123

25:                                               ; preds = %18
  %26 = getelementptr inbounds nuw i8, ptr %5, i64 32
  %27 = load i64, ptr %26, align 8
  %28 = getelementptr inbounds i8, ptr %1, i64 %27
  %29 = load ptr, ptr %28, align 8
  %30 = call fastcc i32 @shape_of(ptr noundef nonnull %6, ptr noundef %29, ptr noundef %3) #17
  %31 = icmp eq i32 %30, 0
  br i1 %31, label %32, label %123

32:                                               ; preds = %25
  %33 = load ptr, ptr %0, align 8
  %34 = load ptr, ptr %4, align 8
  %35 = getelementptr inbounds nuw i8, ptr %34, i64 32
  %36 = load i64, ptr %35, align 8
  %37 = getelementptr inbounds i8, ptr %1, i64 %36
  %38 = getelementptr inbounds nuw i8, ptr %37, i64 8
  %39 = load ptr, ptr %38, align 8
  %40 = getelementptr inbounds nuw i8, ptr %3, i64 16
  %41 = call fastcc i32 @shape_of(ptr noundef %33, ptr noundef %39, ptr noundef %40) #17
  %42 = icmp eq i32 %41, 0
  br i1 %42, label %43, label %123

43:                                               ; preds = %32
  %44 = icmp eq i64 %12, 3
  br i1 %44, label %48, label %45

45:                                               ; preds = %22, %43
  %46 = getelementptr inbounds nuw i8, ptr %3, i64 32
  %47 = load i64, ptr %46, align 16
  br label %56

48:                                               ; preds = %43
  %49 = load ptr, ptr %4, align 8
  %50 = getelementptr inbounds nuw i8, ptr %49, i64 32
  %51 = load i64, ptr %50, align 8
  %52 = getelementptr inbounds i8, ptr %1, i64 %51
  %53 = getelementptr inbounds nuw i8, ptr %52, i64 16
  %54 = load ptr, ptr %53, align 8
  %55 = ptrtoint ptr %54 to i64
  br label %56

56:                                               ; preds = %45, %48
  %57 = phi i64 [ %47, %45 ], [ %55, %48 ]
  %58 = load i64, ptr %3, align 16
  %59 = mul i64 %58, -7046029254386353131
  %60 = lshr i64 %59, 29
  %61 = xor i64 %60, %59
  %62 = getelementptr inbounds nuw i8, ptr %3, i64 8
  %63 = load i64, ptr %62, align 8
  %64 = xor i64 %63, %61
  %65 = mul i64 %64, -7046029254386353131
  %66 = lshr i64 %65, 29
  %67 = xor i64 %66, %65
  %68 = getelementptr inbounds nuw i8, ptr %3, i64 16
  %69 = load i64, ptr %68, align 16
  %70 = xor i64 %69, %67
  %71 = mul i64 %70, -7046029254386353131
  %72 = lshr i64 %71, 29
  %73 = xor i64 %72, %71
  %74 = getelementptr inbounds nuw i8, ptr %3, i64 24
  %75 = load i64, ptr %74, align 8
  %76 = xor i64 %75, %73
  %77 = mul i64 %76, -7046029254386353131
  %78 = lshr i64 %77, 29
  %79 = xor i64 %78, %77
  %80 = xor i64 %57, %79
  %81 = mul i64 %80, -7046029254386353131
  %82 = lshr i64 %81, 29
  %83 = xor i64 %82, %81
  %84 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %85 = load ptr, ptr %84, align 8
  %86 = getelementptr inbounds nuw i8, ptr %85, i64 64
  %87 = load i64, ptr %85, align 8
  %88 = and i64 %87, %83
  %89 = getelementptr inbounds nuw %struct.subscript_entry, ptr %86, i64 %88
  %90 = getelementptr inbounds nuw i8, ptr %89, i64 40
  %91 = load ptr, ptr %90, align 8
  %92 = icmp eq ptr %91, null
  br i1 %92, label %123, label %100

93:                                               ; preds = %100
  %94 = add i64 %102, 1
  %95 = and i64 %87, %94
  %96 = getelementptr inbounds nuw %struct.subscript_entry, ptr %86, i64 %95
  %97 = getelementptr inbounds nuw i8, ptr %96, i64 40
  %98 = load ptr, ptr %97, align 8
  %99 = icmp eq ptr %98, null
  br i1 %99, label %123, label %100

100:                                              ; preds = %56, %93
  %101 = phi ptr [ %96, %93 ], [ %89, %56 ]
  %102 = phi i64 [ %94, %93 ], [ %83, %56 ]
  %103 = load i64, ptr %101, align 8
  %104 = icmp ne i64 %103, %58
  %105 = getelementptr inbounds nuw i8, ptr %101, i64 8
  %106 = load i64, ptr %105, align 8
  %107 = icmp ne i64 %106, %63
  %108 = getelementptr inbounds nuw i8, ptr %101, i64 16
  %109 = load i64, ptr %108, align 8
  %110 = icmp ne i64 %109, %69
  %111 = getelementptr inbounds nuw i8, ptr %101, i64 24
  %112 = load i64, ptr %111, align 8
  %113 = icmp ne i64 %112, %75
  %114 = getelementptr inbounds nuw i8, ptr %101, i64 32
  %115 = load i64, ptr %114, align 8
  %116 = icmp ne i64 %115, %57
  %117 = select i1 %116, i1 true, i1 %113
  %118 = select i1 %117, i1 true, i1 %110
  %119 = select i1 %118, i1 true, i1 %107
  %120 = select i1 %119, i1 true, i1 %104
  br i1 %120, label %93, label %121

121:                                              ; preds = %100
  %122 = getelementptr inbounds nuw i8, ptr %0, i64 24
  store ptr %101, ptr %122, align 8
  br label %123

123:                                              ; preds = %93, %18, %56, %121, %25, %32, %22, %14
  %124 = phi ptr [ null, %14 ], [ null, %18 ], [ null, %25 ], [ null, %22 ], [ null, %32 ], [ %101, %121 ], [ null, %56 ], [ null, %93 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %3) #16
  ret ptr %124
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
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 264
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
  br i1 %25, label %10, label %26, !llvm.loop !34

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
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %4 = load ptr, ptr %3, align 8
  %5 = load ptr, ptr %0, align 8
  %6 = getelementptr inbounds nuw i8, ptr %4, i64 16
  %7 = load ptr, ptr %6, align 8
  %8 = getelementptr inbounds nuw i8, ptr %0, i64 8
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
  %30 = getelementptr inbounds nuw i8, ptr %0, i64 40
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
  br i1 %43, label %466, label %44

44:                                               ; preds = %35
  %45 = getelementptr inbounds nuw i8, ptr %4, i64 24
  %46 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %47 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %48 = getelementptr inbounds nuw i8, ptr %0, i64 60
  br label %56

49:                                               ; preds = %1, %49
  %50 = phi i64 [ %52, %49 ], [ 3, %1 ]
  %51 = getelementptr inbounds nuw i64, ptr %13, i64 %50
  store i64 0, ptr %51, align 8
  %52 = add nuw nsw i64 %50, 1
  %53 = load i32, ptr %32, align 4
  %54 = zext i32 %53 to i64
  %55 = icmp samesign ult i64 %52, %54
  br i1 %55, label %49, label %35, !llvm.loop !35

56:                                               ; preds = %44, %456
  %57 = phi ptr [ %7, %44 ], [ %458, %456 ]
  %58 = phi ptr [ %9, %44 ], [ %460, %456 ]
  %59 = phi ptr [ %25, %44 ], [ %461, %456 ]
  %60 = phi ptr [ %29, %44 ], [ %462, %456 ]
  %61 = phi ptr [ %37, %44 ], [ %459, %456 ]
  %62 = phi i64 [ -1, %44 ], [ %457, %456 ]
  %63 = getelementptr inbounds nuw i8, ptr %61, i64 2
  %64 = load i16, ptr %63, align 2
  %65 = icmp eq i16 %64, -1
  br i1 %65, label %77, label %66

66:                                               ; preds = %56
  %67 = load ptr, ptr %8, align 8
  %68 = load ptr, ptr %0, align 8
  %69 = getelementptr inbounds nuw i8, ptr %68, i64 124
  %70 = load i32, ptr %69, align 4
  %71 = zext i32 %70 to i64
  %72 = getelementptr inbounds nuw i8, ptr %67, i64 %71
  %73 = zext i16 %64 to i64
  %74 = getelementptr inbounds nuw i8, ptr %72, i64 %73
  %75 = load i8, ptr %74, align 1
  %76 = icmp eq i8 %75, 0
  br i1 %76, label %456, label %77, !prof !36

77:                                               ; preds = %56, %66
  %78 = load i16, ptr %61, align 8
  %79 = zext i16 %78 to i64
  %80 = getelementptr inbounds nuw ptr, ptr %31, i64 %79
  %81 = load ptr, ptr %80, align 8
  %82 = load ptr, ptr %57, align 8
  %83 = getelementptr inbounds nuw i8, ptr %81, i64 8
  %84 = load ptr, ptr %83, align 8
  %85 = icmp eq ptr %82, %84
  br i1 %85, label %86, label %187, !prof !4

86:                                               ; preds = %77
  %87 = getelementptr inbounds nuw i8, ptr %57, i64 8
  %88 = load i64, ptr %87, align 8
  %89 = icmp eq i64 %88, 6
  br i1 %89, label %90, label %187, !prof !4

90:                                               ; preds = %86
  %91 = load ptr, ptr %45, align 8
  %92 = load i64, ptr %91, align 8
  %93 = getelementptr inbounds nuw i8, ptr %81, i64 %92
  %94 = load ptr, ptr %93, align 8
  %95 = getelementptr inbounds nuw i8, ptr %91, i64 8
  %96 = load i64, ptr %95, align 8
  %97 = getelementptr inbounds nuw i8, ptr %94, i64 %96
  %98 = load i64, ptr %97, align 8
  %99 = getelementptr inbounds nuw i8, ptr %91, i64 72
  %100 = load i64, ptr %99, align 8
  %101 = icmp eq i64 %98, %100
  br i1 %101, label %106, label %102

102:                                              ; preds = %90
  %103 = getelementptr inbounds nuw i8, ptr %91, i64 80
  %104 = load i64, ptr %103, align 8
  %105 = icmp eq i64 %98, %104
  br i1 %105, label %106, label %187, !prof !4

106:                                              ; preds = %102, %90
  %107 = getelementptr inbounds nuw i8, ptr %91, i64 16
  %108 = load i64, ptr %107, align 8
  %109 = getelementptr inbounds nuw i8, ptr %94, i64 %108
  %110 = load i64, ptr %109, align 8
  %111 = getelementptr inbounds nuw i8, ptr %91, i64 48
  %112 = load i64, ptr %111, align 8
  %113 = getelementptr inbounds nuw i8, ptr %94, i64 %112
  %114 = load i16, ptr %113, align 2
  %115 = icmp ugt i64 %110, 5
  %116 = icmp ugt i16 %114, 63
  %117 = select i1 %115, i1 true, i1 %116, !prof !5
  br i1 %117, label %187, label %118, !prof !5

118:                                              ; preds = %106
  %119 = zext nneg i16 %114 to i64
  %120 = getelementptr inbounds nuw i8, ptr %91, i64 88
  %121 = getelementptr inbounds nuw i32, ptr %120, i64 %119
  %122 = load i32, ptr %121, align 4
  %123 = getelementptr inbounds nuw i8, ptr %91, i64 32
  %124 = load i64, ptr %123, align 8
  %125 = getelementptr inbounds nuw i8, ptr %94, i64 %124
  %126 = load ptr, ptr %125, align 8
  %127 = getelementptr inbounds nuw i8, ptr %91, i64 56
  %128 = load i64, ptr %127, align 8
  %129 = getelementptr inbounds nuw i8, ptr %126, i64 %128
  %130 = load i64, ptr %129, align 8
  %131 = getelementptr inbounds nuw i8, ptr %91, i64 40
  %132 = load i64, ptr %131, align 8
  %133 = getelementptr inbounds nuw i8, ptr %94, i64 %132
  %134 = icmp ne i32 %122, 0
  %135 = icmp ne i64 %130, 0
  %136 = select i1 %134, i1 %135, i1 false, !prof !37
  br i1 %136, label %137, label %187, !prof !37

137:                                              ; preds = %118
  %138 = getelementptr inbounds nuw i8, ptr %91, i64 64
  %139 = load i64, ptr %138, align 8
  %140 = getelementptr inbounds nuw i8, ptr %126, i64 %139
  %141 = load i64, ptr %140, align 8
  %142 = icmp eq i64 %130, %141
  br i1 %142, label %143, label %187, !prof !4

143:                                              ; preds = %137
  %144 = load i8, ptr %133, align 1
  %145 = icmp eq i8 %144, 1
  br i1 %145, label %146, label %187, !prof !4

146:                                              ; preds = %143
  %147 = getelementptr inbounds nuw i8, ptr %91, i64 24
  %148 = load i64, ptr %147, align 8
  %149 = getelementptr inbounds nuw i8, ptr %94, i64 %148
  %150 = load i64, ptr %149, align 8
  %151 = lshr i32 %122, 11
  %152 = and i32 %151, 31
  %153 = zext nneg i32 %152 to i64
  %154 = mul i64 %150, %153
  %155 = add i64 %154, %130
  %156 = getelementptr inbounds nuw i8, ptr %133, i64 1
  %157 = load i8, ptr %156, align 1
  %158 = zext i8 %157 to i32
  %159 = trunc nuw nsw i64 %110 to i32
  %160 = getelementptr inbounds nuw i8, ptr %109, i64 8
  %161 = getelementptr inbounds nuw i8, ptr %109, i64 48
  %162 = load ptr, ptr %46, align 8
  %163 = icmp eq ptr %162, null
  br i1 %163, label %164, label %167, !prof !5

164:                                              ; preds = %146
  %165 = getelementptr inbounds nuw i8, ptr %57, i64 24
  %166 = load ptr, ptr %165, align 8
  store ptr %166, ptr %46, align 8
  store i32 %158, ptr %47, align 8
  br label %167

167:                                              ; preds = %164, %146
  %168 = getelementptr inbounds nuw i8, ptr %61, i64 4
  %169 = load i32, ptr %168, align 4
  %170 = icmp eq i32 %169, 0
  br i1 %170, label %222, label %171, !prof !4

171:                                              ; preds = %167
  %172 = load ptr, ptr %8, align 8
  %173 = load ptr, ptr %0, align 8
  %174 = getelementptr inbounds nuw i8, ptr %173, i64 108
  %175 = load i32, ptr %174, align 4
  %176 = zext i32 %175 to i64
  %177 = getelementptr inbounds nuw i8, ptr %172, i64 %176
  %178 = load ptr, ptr %36, align 8
  %179 = ptrtoint ptr %61 to i64
  %180 = ptrtoint ptr %178 to i64
  %181 = sub i64 %179, %180
  %182 = ashr exact i64 %181, 4
  %183 = getelementptr inbounds %struct.tensor, ptr %177, i64 %182
  %184 = getelementptr inbounds nuw i8, ptr %183, i64 16
  store i32 %159, ptr %184, align 8
  %185 = getelementptr inbounds nuw i8, ptr %183, i64 24
  store ptr %160, ptr %185, align 8
  %186 = getelementptr inbounds nuw i8, ptr %183, i64 32
  store ptr %161, ptr %186, align 8
  br label %222

187:                                              ; preds = %137, %118, %143, %106, %102, %77, %86
  %188 = load ptr, ptr %8, align 8
  %189 = load ptr, ptr %0, align 8
  %190 = getelementptr inbounds nuw i8, ptr %189, i64 108
  %191 = load i32, ptr %190, align 4
  %192 = zext i32 %191 to i64
  %193 = getelementptr inbounds nuw i8, ptr %188, i64 %192
  %194 = load ptr, ptr %36, align 8
  %195 = ptrtoint ptr %61 to i64
  %196 = ptrtoint ptr %194 to i64
  %197 = sub i64 %195, %196
  %198 = ashr exact i64 %197, 4
  %199 = getelementptr inbounds %struct.tensor, ptr %193, i64 %198
  %200 = tail call fastcc i32 @read_array(ptr noundef %0, ptr noundef nonnull %81, ptr noundef %199) #17
  %201 = load ptr, ptr %6, align 8
  switch i32 %200, label %469 [
    i32 4, label %202
    i32 0, label %203
  ]

202:                                              ; preds = %187
  store i32 1, ptr %48, align 4
  br label %456

203:                                              ; preds = %187
  %204 = getelementptr inbounds nuw i8, ptr %199, i64 8
  %205 = load i32, ptr %204, align 8
  switch i32 %205, label %469 [
    i32 2, label %206
    i32 13, label %206
  ]

206:                                              ; preds = %203, %203
  %207 = load i64, ptr %199, align 8
  %208 = getelementptr inbounds nuw i8, ptr %199, i64 40
  %209 = load i64, ptr %208, align 8
  %210 = add i64 %209, %207
  %211 = getelementptr inbounds nuw i8, ptr %199, i64 12
  %212 = load i32, ptr %211, align 4
  %213 = getelementptr inbounds nuw i8, ptr %199, i64 16
  %214 = load i32, ptr %213, align 8
  %215 = getelementptr inbounds nuw i8, ptr %199, i64 20
  %216 = load i32, ptr %215, align 4
  %217 = getelementptr inbounds nuw i8, ptr %199, i64 24
  %218 = load ptr, ptr %217, align 8
  %219 = getelementptr inbounds nuw i8, ptr %199, i64 32
  %220 = load ptr, ptr %219, align 8
  %221 = icmp eq i64 %210, 0
  br i1 %221, label %469, label %222

222:                                              ; preds = %206, %167, %171
  %223 = phi ptr [ %220, %206 ], [ %161, %167 ], [ %161, %171 ]
  %224 = phi ptr [ %218, %206 ], [ %160, %167 ], [ %160, %171 ]
  %225 = phi i32 [ %216, %206 ], [ %122, %167 ], [ %122, %171 ]
  %226 = phi i32 [ %214, %206 ], [ %159, %167 ], [ %159, %171 ]
  %227 = phi i32 [ %212, %206 ], [ %158, %167 ], [ %158, %171 ]
  %228 = phi i64 [ %210, %206 ], [ %155, %167 ], [ %155, %171 ]
  %229 = phi ptr [ %201, %206 ], [ %57, %167 ], [ %57, %171 ]
  %230 = getelementptr inbounds nuw i8, ptr %61, i64 8
  %231 = load ptr, ptr %230, align 8
  %232 = zext i32 %227 to i64
  %233 = icmp eq i64 %62, %232
  br i1 %233, label %236, label %234, !prof !4

234:                                              ; preds = %222
  %235 = icmp eq i64 %62, -1
  br i1 %235, label %236, label %469

236:                                              ; preds = %234, %222
  store i64 %228, ptr %58, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %2) #16
  %237 = getelementptr inbounds nuw i8, ptr %231, i64 8
  %238 = load i32, ptr %237, align 8
  store i32 %238, ptr %2, align 4
  %239 = load i32, ptr %231, align 8
  %240 = icmp eq i32 %225, %239
  br i1 %240, label %256, label %241, !prof !4

241:                                              ; preds = %236
  %242 = icmp eq i32 %239, 0
  br i1 %242, label %243, label %464

243:                                              ; preds = %241
  %244 = load ptr, ptr %8, align 8
  %245 = load ptr, ptr %0, align 8
  %246 = getelementptr inbounds nuw i8, ptr %245, i64 96
  %247 = load i32, ptr %246, align 8
  %248 = zext i32 %247 to i64
  %249 = getelementptr inbounds nuw i8, ptr %244, i64 %248
  %250 = getelementptr inbounds nuw i8, ptr %231, i64 4
  %251 = load i32, ptr %250, align 4
  %252 = zext i32 %251 to i64
  %253 = getelementptr inbounds nuw i64, ptr %249, i64 %252
  %254 = call fastcc i32 @is_of_variable(ptr noundef %253, i32 noundef %225, ptr noundef %2) #17
  %255 = icmp eq i32 %254, 0
  br i1 %255, label %256, label %464

256:                                              ; preds = %243, %236
  %257 = getelementptr inbounds nuw i8, ptr %231, i64 16
  %258 = load i32, ptr %257, align 8
  %259 = icmp eq i32 %226, %258
  br i1 %259, label %267, label %260, !prof !4

260:                                              ; preds = %256
  %261 = getelementptr inbounds nuw i8, ptr %231, i64 20
  %262 = load i32, ptr %261, align 4
  %263 = icmp eq i32 %262, 3
  br i1 %263, label %264, label %464

264:                                              ; preds = %260
  %265 = tail call fastcc i32 @fit_nested(ptr noundef nonnull %231, i32 noundef %226, ptr noundef %224, ptr noundef %223, ptr noundef %60) #17
  %266 = icmp eq i32 %265, 0
  br i1 %266, label %440, label %464

267:                                              ; preds = %256
  %268 = getelementptr inbounds nuw i8, ptr %231, i64 32
  %269 = load ptr, ptr %268, align 8
  %270 = zext i32 %226 to i64
  %271 = shl nuw nsw i64 %270, 4
  %272 = getelementptr inbounds nuw i8, ptr %269, i64 %271
  %273 = icmp eq i32 %226, 0
  br i1 %273, label %340, label %274

274:                                              ; preds = %267, %321
  %275 = phi ptr [ %332, %321 ], [ %269, %267 ]
  %276 = phi i32 [ %330, %321 ], [ 0, %267 ]
  %277 = phi i64 [ %331, %321 ], [ 1, %267 ]
  %278 = getelementptr inbounds nuw i8, ptr %275, i64 4
  %279 = load i32, ptr %278, align 4
  %280 = zext i32 %279 to i64
  %281 = getelementptr inbounds nuw i64, ptr %224, i64 %280
  %282 = load i64, ptr %281, align 8
  %283 = getelementptr inbounds nuw i8, ptr %275, i64 8
  %284 = load i64, ptr %283, align 8
  %285 = load i32, ptr %275, align 8
  switch i32 %285, label %288 [
    i32 0, label %286
    i32 1, label %289
  ], !prof !38

286:                                              ; preds = %274
  %287 = icmp eq i64 %282, %284
  br i1 %287, label %321, label %465

288:                                              ; preds = %274
  tail call fastcc void @put_off(ptr noundef nonnull %0, ptr noundef nonnull %275, i64 noundef %282, i32 noundef 1) #17
  br label %321

289:                                              ; preds = %274
  %290 = shl i64 %284, 1
  %291 = getelementptr inbounds nuw i8, ptr %21, i64 %290
  %292 = load i8, ptr %291, align 1
  %293 = icmp eq i8 %292, 0
  br i1 %293, label %294, label %317

294:                                              ; preds = %289
  %295 = load ptr, ptr %0, align 8
  %296 = getelementptr inbounds nuw i8, ptr %295, i64 168
  %297 = load ptr, ptr %296, align 8
  %298 = getelementptr inbounds nuw %struct.dim_row, ptr %297, i64 %284
  %299 = load i64, ptr %298, align 8
  %300 = icmp slt i64 %282, %299
  br i1 %300, label %465, label %301

301:                                              ; preds = %294
  %302 = getelementptr inbounds nuw i8, ptr %298, i64 8
  %303 = load i64, ptr %302, align 8
  %304 = icmp sgt i64 %282, %303
  br i1 %304, label %465, label %305

305:                                              ; preds = %301
  %306 = getelementptr inbounds nuw i8, ptr %298, i64 16
  %307 = load i64, ptr %306, align 8
  %308 = icmp sgt i64 %307, 1
  br i1 %308, label %309, label %312

309:                                              ; preds = %305
  %310 = srem i64 %282, %307
  %311 = icmp eq i64 %310, 0
  br i1 %311, label %312, label %465

312:                                              ; preds = %305, %309
  %313 = getelementptr inbounds nuw i64, ptr %17, i64 %284
  store i64 %282, ptr %313, align 8
  store i8 1, ptr %291, align 1
  %314 = icmp sgt i64 %282, 2147418112
  %315 = zext i1 %314 to i8
  %316 = getelementptr inbounds nuw i8, ptr %291, i64 1
  store i8 %315, ptr %316, align 1
  br label %321

317:                                              ; preds = %289
  %318 = getelementptr inbounds nuw i64, ptr %17, i64 %284
  %319 = load i64, ptr %318, align 8
  %320 = icmp eq i64 %319, %282
  br i1 %320, label %321, label %465

321:                                              ; preds = %286, %312, %288, %317
  %322 = load i32, ptr %278, align 4
  %323 = zext i32 %322 to i64
  %324 = getelementptr inbounds nuw i64, ptr %223, i64 %323
  %325 = load i64, ptr %324, align 8
  %326 = icmp ne i64 %325, %277
  %327 = icmp sgt i64 %282, 1
  %328 = and i1 %327, %326
  %329 = zext i1 %328 to i32
  %330 = or i32 %276, %329
  %331 = mul i64 %282, %277
  %332 = getelementptr inbounds nuw i8, ptr %275, i64 16
  %333 = icmp ult ptr %332, %272
  br i1 %333, label %274, label %334, !llvm.loop !39

334:                                              ; preds = %321
  %335 = icmp sgt i64 %331, 1073741824
  %336 = zext i1 %335 to i8
  store i8 %336, ptr %60, align 1
  %337 = getelementptr inbounds nuw i8, ptr %231, i64 20
  %338 = load i32, ptr %337, align 4
  %339 = icmp eq i32 %338, 2
  br i1 %339, label %359, label %344, !prof !5

340:                                              ; preds = %267
  store i8 0, ptr %60, align 1
  %341 = getelementptr inbounds nuw i8, ptr %231, i64 20
  %342 = load i32, ptr %341, align 4
  %343 = icmp eq i32 %342, 2
  br i1 %343, label %359, label %440, !prof !5

344:                                              ; preds = %334
  %345 = icmp eq i32 %330, 0
  br i1 %345, label %440, label %346, !prof !40

346:                                              ; preds = %344
  %347 = load i32, ptr %257, align 8
  %348 = icmp eq i32 %347, 0
  br i1 %348, label %465, label %349

349:                                              ; preds = %346
  %350 = zext i32 %347 to i64
  br label %354

351:                                              ; preds = %354
  %352 = add nuw nsw i64 %355, 1
  %353 = icmp eq i64 %352, %350
  br i1 %353, label %465, label %354, !llvm.loop !41

354:                                              ; preds = %349, %351
  %355 = phi i64 [ 0, %349 ], [ %352, %351 ]
  %356 = getelementptr inbounds nuw i64, ptr %224, i64 %355
  %357 = load i64, ptr %356, align 8
  %358 = icmp eq i64 %357, 0
  br i1 %358, label %440, label %351

359:                                              ; preds = %340, %334
  %360 = phi ptr [ %269, %340 ], [ %332, %334 ]
  %361 = load i32, ptr %257, align 8
  %362 = icmp eq i32 %361, 0
  br i1 %362, label %373, label %363

363:                                              ; preds = %359
  %364 = zext i32 %361 to i64
  br label %365

365:                                              ; preds = %365, %363
  %366 = phi i64 [ 0, %363 ], [ %370, %365 ]
  %367 = getelementptr inbounds nuw i64, ptr %224, i64 %366
  %368 = load i64, ptr %367, align 8
  %369 = icmp eq i64 %368, 0
  %370 = add nuw nsw i64 %366, 1
  %371 = icmp eq i64 %370, %364
  %372 = select i1 %369, i1 true, i1 %371
  br i1 %372, label %373, label %365, !llvm.loop !41

373:                                              ; preds = %365, %359
  %374 = phi i64 [ 0, %359 ], [ %364, %365 ]
  %375 = phi i1 [ false, %359 ], [ %369, %365 ]
  %376 = getelementptr inbounds nuw %struct.rule, ptr %272, i64 %374
  %377 = icmp ult ptr %360, %376
  br i1 %377, label %378, label %440

378:                                              ; preds = %373, %437
  %379 = phi ptr [ %438, %437 ], [ %360, %373 ]
  %380 = getelementptr inbounds nuw i8, ptr %379, i64 4
  %381 = load i32, ptr %380, align 4
  %382 = zext i32 %381 to i64
  %383 = getelementptr inbounds nuw i64, ptr %223, i64 %382
  %384 = load i64, ptr %383, align 8
  br i1 %375, label %393, label %385

385:                                              ; preds = %378
  %386 = getelementptr inbounds nuw i64, ptr %224, i64 %382
  %387 = load i64, ptr %386, align 8
  %388 = icmp sgt i64 %387, 1
  %389 = getelementptr inbounds nuw i8, ptr %379, i64 8
  %390 = load i64, ptr %389, align 8
  %391 = load i32, ptr %379, align 8
  %392 = icmp eq i32 %391, 0
  br i1 %392, label %396, label %399

393:                                              ; preds = %378
  %394 = load i32, ptr %379, align 8
  %395 = icmp eq i32 %394, 0
  br i1 %395, label %437, label %403

396:                                              ; preds = %385
  %397 = icmp ne i64 %384, %390
  %398 = select i1 %388, i1 %397, i1 false
  br i1 %398, label %465, label %437

399:                                              ; preds = %385
  %400 = zext i1 %388 to i32
  %401 = icmp eq i32 %391, 1
  %402 = and i1 %388, %401
  br i1 %402, label %405, label %403, !prof !42

403:                                              ; preds = %393, %399
  %404 = phi i32 [ %400, %399 ], [ 0, %393 ]
  tail call fastcc void @put_off(ptr noundef nonnull %0, ptr noundef nonnull %379, i64 noundef %384, i32 noundef range(i32 0, 2) %404) #17
  br label %437

405:                                              ; preds = %399
  %406 = shl i64 %390, 1
  %407 = getelementptr inbounds nuw i8, ptr %21, i64 %406
  %408 = load i8, ptr %407, align 1
  %409 = icmp eq i8 %408, 0
  br i1 %409, label %414, label %410

410:                                              ; preds = %405
  %411 = getelementptr inbounds nuw i64, ptr %17, i64 %390
  %412 = load i64, ptr %411, align 8
  %413 = icmp eq i64 %412, %384
  br i1 %413, label %437, label %465

414:                                              ; preds = %405
  %415 = load ptr, ptr %0, align 8
  %416 = getelementptr inbounds nuw i8, ptr %415, i64 168
  %417 = load ptr, ptr %416, align 8
  %418 = getelementptr inbounds nuw %struct.dim_row, ptr %417, i64 %390
  %419 = load i64, ptr %418, align 8
  %420 = icmp slt i64 %384, %419
  br i1 %420, label %465, label %421

421:                                              ; preds = %414
  %422 = getelementptr inbounds nuw i8, ptr %418, i64 8
  %423 = load i64, ptr %422, align 8
  %424 = icmp sgt i64 %384, %423
  br i1 %424, label %465, label %425

425:                                              ; preds = %421
  %426 = getelementptr inbounds nuw i8, ptr %418, i64 16
  %427 = load i64, ptr %426, align 8
  %428 = icmp sgt i64 %427, 1
  br i1 %428, label %429, label %432

429:                                              ; preds = %425
  %430 = srem i64 %384, %427
  %431 = icmp eq i64 %430, 0
  br i1 %431, label %432, label %465

432:                                              ; preds = %425, %429
  %433 = getelementptr inbounds nuw i64, ptr %17, i64 %390
  store i64 %384, ptr %433, align 8
  store i8 1, ptr %407, align 1
  %434 = icmp sgt i64 %384, 2147418112
  %435 = zext i1 %434 to i8
  %436 = getelementptr inbounds nuw i8, ptr %407, i64 1
  store i8 %435, ptr %436, align 1
  br label %437

437:                                              ; preds = %396, %410, %393, %432, %403
  %438 = getelementptr inbounds nuw i8, ptr %379, i64 16
  %439 = icmp ult ptr %438, %376
  br i1 %439, label %378, label %440, !llvm.loop !43

440:                                              ; preds = %354, %437, %340, %373, %344, %264
  %441 = getelementptr inbounds nuw i8, ptr %231, i64 12
  %442 = load i32, ptr %441, align 4
  %443 = icmp eq i32 %442, 0
  %444 = load i32, ptr %2, align 4
  %445 = select i1 %443, i32 %444, i32 %442
  %446 = add i32 %445, -1
  %447 = zext i32 %446 to i64
  %448 = and i64 %228, %447
  br i1 %443, label %449, label %453, !prof !4

449:                                              ; preds = %440
  %450 = and i64 %228, 15
  %451 = icmp eq i64 %450, 0
  %452 = zext i1 %451 to i8
  store i8 %452, ptr %59, align 1
  br label %453

453:                                              ; preds = %449, %440
  %454 = icmp eq i64 %448, 0
  br i1 %454, label %455, label %465, !prof !4

455:                                              ; preds = %453
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #16
  br label %456

456:                                              ; preds = %202, %455, %66
  %457 = phi i64 [ %62, %202 ], [ %232, %455 ], [ %62, %66 ]
  %458 = phi ptr [ %201, %202 ], [ %229, %455 ], [ %57, %66 ]
  %459 = getelementptr inbounds nuw i8, ptr %61, i64 16
  %460 = getelementptr inbounds nuw i8, ptr %58, i64 8
  %461 = getelementptr inbounds nuw i8, ptr %59, i64 1
  %462 = getelementptr inbounds nuw i8, ptr %60, i64 1
  %463 = icmp ult ptr %459, %42
  br i1 %463, label %56, label %466, !llvm.loop !44

464:                                              ; preds = %264, %241, %260, %243
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #16
  br label %469

465:                                              ; preds = %346, %453, %317, %309, %301, %294, %286, %351, %429, %421, %414, %410, %396
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #16
  br label %469

466:                                              ; preds = %456, %35
  %467 = phi i64 [ -1, %35 ], [ %457, %456 ]
  %468 = getelementptr inbounds nuw i8, ptr %13, i64 16
  store i64 %467, ptr %468, align 8
  br label %469

469:                                              ; preds = %206, %187, %203, %234, %465, %464, %466
  %470 = phi i32 [ 0, %466 ], [ 1, %465 ], [ 1, %464 ], [ 1, %206 ], [ %200, %187 ], [ 1, %203 ], [ 1, %234 ]
  ret i32 %470
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 5) i32 @read_others(ptr noundef nonnull captures(none) %0, ptr noundef readonly captures(none) %1) unnamed_addr #3 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %4 = load ptr, ptr %3, align 8
  %5 = load ptr, ptr %0, align 8
  %6 = getelementptr inbounds nuw i8, ptr %5, i64 28
  %7 = load i32, ptr %6, align 4
  %8 = add i32 %7, 2
  %9 = zext i32 %8 to i64
  %10 = alloca ptr, i64 %9, align 16
  %11 = getelementptr inbounds nuw i8, ptr %4, i64 152
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
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %26 = load ptr, ptr %25, align 8
  %27 = load ptr, ptr %0, align 8
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
  %37 = load ptr, ptr %0, align 8
  %38 = getelementptr inbounds nuw i8, ptr %37, i64 144
  %39 = getelementptr inbounds nuw i8, ptr %37, i64 124
  %40 = getelementptr inbounds nuw i8, ptr %4, i64 96
  %41 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %42 = zext i32 %7 to i64
  %43 = load ptr, ptr %38, align 8
  br label %60

44:                                               ; preds = %80, %21
  %45 = getelementptr inbounds nuw i8, ptr %4, i64 224
  %46 = load ptr, ptr %45, align 8
  %47 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %48 = load ptr, ptr %47, align 8
  %49 = getelementptr inbounds nuw i8, ptr %48, i64 64
  %50 = load ptr, ptr %49, align 8
  %51 = call ptr %46(ptr noundef %50, ptr noundef nonnull %10, i64 noundef %9, ptr noundef null) #18
  %52 = getelementptr inbounds nuw i8, ptr %0, i64 72
  store ptr %51, ptr %52, align 8
  %53 = getelementptr inbounds nuw i8, ptr %4, i64 192
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
  br i1 %87, label %44, label %60, !llvm.loop !45

88:                                               ; preds = %44
  %89 = call fastcc i32 @failed(ptr noundef nonnull %4) #17
  br label %124

90:                                               ; preds = %44
  %91 = getelementptr inbounds nuw i8, ptr %4, i64 144
  %92 = load ptr, ptr %91, align 8
  %93 = getelementptr inbounds nuw i8, ptr %4, i64 200
  %94 = load ptr, ptr %93, align 8
  %95 = call ptr %94(ptr noundef nonnull %58, i64 noundef 0) #18
  %96 = call ptr %92(ptr noundef %95) #18
  %97 = getelementptr inbounds nuw i8, ptr %0, i64 80
  store ptr %96, ptr %97, align 8
  %98 = getelementptr inbounds nuw i8, ptr %0, i64 64
  store i32 1, ptr %98, align 8
  %99 = getelementptr inbounds nuw i8, ptr %0, i64 16
  store i32 0, ptr %99, align 8
  %100 = load ptr, ptr %0, align 8
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
  %119 = load ptr, ptr %0, align 8
  %120 = getelementptr inbounds nuw i8, ptr %119, i64 40
  %121 = load i32, ptr %120, align 8
  %122 = zext i32 %121 to i64
  %123 = icmp samesign ult i64 %118, %122
  br i1 %123, label %106, label %104, !llvm.loop !46

124:                                              ; preds = %104, %88
  %125 = phi i32 [ %105, %104 ], [ %89, %88 ]
  ret i32 %125
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @constants(ptr noundef nonnull readonly captures(none) %0) unnamed_addr #3 {
  %2 = load ptr, ptr %0, align 8
  %3 = getelementptr inbounds nuw i8, ptr %2, i64 36
  %4 = load i32, ptr %3, align 4
  %5 = icmp eq i32 %4, 0
  br i1 %5, label %107, label %6

6:                                                ; preds = %1
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %11 = getelementptr inbounds nuw i8, ptr %8, i64 328
  %12 = getelementptr inbounds nuw i8, ptr %8, i64 96
  %13 = getelementptr inbounds nuw i8, ptr %8, i64 56
  %14 = getelementptr inbounds nuw i8, ptr %8, i64 32
  %15 = getelementptr inbounds nuw i8, ptr %8, i64 48
  %16 = getelementptr inbounds nuw i8, ptr %8, i64 40
  %17 = getelementptr inbounds nuw i8, ptr %8, i64 120
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 160
  %19 = getelementptr inbounds nuw i8, ptr %8, i64 168
  br label %20

20:                                               ; preds = %6, %100
  %21 = phi i64 [ 0, %6 ], [ %101, %100 ]
  %22 = phi ptr [ %2, %6 ], [ %102, %100 ]
  %23 = getelementptr inbounds nuw i8, ptr %22, i64 160
  %24 = load ptr, ptr %23, align 8
  %25 = getelementptr inbounds nuw %struct.constant_row, ptr %24, i64 %21
  %26 = getelementptr inbounds nuw i8, ptr %25, i64 2
  %27 = load i16, ptr %26, align 2
  %28 = icmp eq i16 %27, -1
  %29 = load ptr, ptr %9, align 8
  br i1 %28, label %39, label %30

30:                                               ; preds = %20
  %31 = getelementptr inbounds nuw i8, ptr %22, i64 124
  %32 = load i32, ptr %31, align 4
  %33 = zext i32 %32 to i64
  %34 = getelementptr inbounds nuw i8, ptr %29, i64 %33
  %35 = zext i16 %27 to i64
  %36 = getelementptr inbounds nuw i8, ptr %34, i64 %35
  %37 = load i8, ptr %36, align 1
  %38 = icmp eq i8 %37, 0
  br i1 %38, label %100, label %39

39:                                               ; preds = %20, %30
  %40 = load ptr, ptr %10, align 8
  %41 = load i16, ptr %25, align 4
  %42 = zext i16 %41 to i64
  %43 = getelementptr inbounds nuw ptr, ptr %40, i64 %42
  %44 = load ptr, ptr %43, align 8
  %45 = getelementptr inbounds nuw i8, ptr %22, i64 96
  %46 = load i32, ptr %45, align 8
  %47 = zext i32 %46 to i64
  %48 = getelementptr inbounds nuw i8, ptr %29, i64 %47
  %49 = getelementptr inbounds nuw i8, ptr %25, i64 4
  %50 = load i32, ptr %49, align 4
  %51 = zext i32 %50 to i64
  %52 = getelementptr inbounds nuw i64, ptr %48, i64 %51
  %53 = getelementptr inbounds nuw i8, ptr %44, i64 8
  %54 = load ptr, ptr %53, align 8
  %55 = ptrtoint ptr %54 to i64
  store i64 %55, ptr %52, align 8
  %56 = ptrtoint ptr %44 to i64
  %57 = getelementptr inbounds nuw i8, ptr %52, i64 8
  store i64 %56, ptr %57, align 8
  %58 = load ptr, ptr %53, align 8
  %59 = load ptr, ptr %11, align 8
  %60 = icmp eq ptr %58, %59
  br i1 %60, label %100, label %61

61:                                               ; preds = %39
  %62 = load ptr, ptr %12, align 8
  %63 = icmp eq ptr %44, %62
  br i1 %63, label %100, label %64

64:                                               ; preds = %61
  %65 = load ptr, ptr %13, align 8
  %66 = icmp eq ptr %58, %65
  br i1 %66, label %67, label %70

67:                                               ; preds = %64
  %68 = getelementptr inbounds nuw i8, ptr %44, i64 16
  %69 = load i64, ptr %68, align 8
  br label %98

70:                                               ; preds = %64
  %71 = load ptr, ptr %14, align 8
  %72 = icmp eq ptr %58, %71
  br i1 %72, label %73, label %95

73:                                               ; preds = %70
  %74 = getelementptr inbounds nuw i8, ptr %44, i64 16
  %75 = load i64, ptr %74, align 8
  %76 = load i64, ptr %15, align 8
  %77 = xor i64 %76, -1
  %78 = and i64 %75, %77
  %79 = load i64, ptr %16, align 8
  %80 = icmp eq i64 %78, %79
  br i1 %80, label %81, label %85

81:                                               ; preds = %73
  %82 = getelementptr inbounds nuw i8, ptr %44, i64 24
  %83 = load i32, ptr %82, align 4
  %84 = zext i32 %83 to i64
  br label %98

85:                                               ; preds = %73
  %86 = load ptr, ptr %17, align 8
  %87 = tail call i64 %86(ptr noundef nonnull %44) #18
  %88 = icmp eq i64 %87, -1
  br i1 %88, label %89, label %98

89:                                               ; preds = %85
  %90 = load ptr, ptr %18, align 8
  %91 = tail call ptr %90() #18
  %92 = icmp eq ptr %91, null
  br i1 %92, label %98, label %93

93:                                               ; preds = %89
  %94 = load ptr, ptr %19, align 8
  tail call void %94() #18
  br label %95

95:                                               ; preds = %70, %93
  %96 = tail call fastcc i32 @known_constant(ptr noundef %0, ptr noundef nonnull %44, ptr noundef nonnull %52) #17
  %97 = icmp eq i32 %96, 0
  br i1 %97, label %100, label %107

98:                                               ; preds = %81, %85, %89, %67
  %99 = phi i64 [ %69, %67 ], [ %84, %81 ], [ %87, %85 ], [ -1, %89 ]
  store i64 %99, ptr %57, align 8
  br label %100

100:                                              ; preds = %98, %95, %30, %39, %61
  %101 = add nuw nsw i64 %21, 1
  %102 = load ptr, ptr %0, align 8
  %103 = getelementptr inbounds nuw i8, ptr %102, i64 36
  %104 = load i32, ptr %103, align 4
  %105 = zext i32 %104 to i64
  %106 = icmp samesign ult i64 %101, %105
  br i1 %106, label %20, label %107, !llvm.loop !47

107:                                              ; preds = %100, %95, %1
  %108 = phi i32 [ 0, %1 ], [ %96, %95 ], [ 0, %100 ]
  ret i32 %108
}

; Function Attrs: nofree noinline norecurse nosync nounwind memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define internal fastcc range(i32 0, 2) i32 @unsure_dims(ptr noundef nonnull readonly captures(none) %0) unnamed_addr #5 {
  %2 = load ptr, ptr %0, align 8
  %3 = getelementptr inbounds nuw i8, ptr %2, i64 40
  %4 = load i32, ptr %3, align 8
  %5 = icmp eq i32 %4, 0
  br i1 %5, label %84, label %6

6:                                                ; preds = %1
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 8
  br label %8

8:                                                ; preds = %6, %77
  %9 = phi ptr [ %2, %6 ], [ %78, %77 ]
  %10 = phi i64 [ 0, %6 ], [ %79, %77 ]
  %11 = load ptr, ptr %7, align 8
  %12 = getelementptr inbounds nuw i8, ptr %9, i64 116
  %13 = load i32, ptr %12, align 4
  %14 = zext i32 %13 to i64
  %15 = getelementptr inbounds nuw i8, ptr %11, i64 %14
  %16 = trunc nuw i64 %10 to i32
  %17 = shl i32 %16, 1
  %18 = zext i32 %17 to i64
  %19 = getelementptr inbounds nuw i64, ptr %15, i64 %18
  %20 = load i64, ptr %19, align 8
  %21 = getelementptr inbounds nuw i8, ptr %9, i64 96
  %22 = load i32, ptr %21, align 8
  %23 = zext i32 %22 to i64
  %24 = getelementptr inbounds nuw i8, ptr %11, i64 %23
  %25 = getelementptr inbounds nuw i8, ptr %9, i64 100
  %26 = load i32, ptr %25, align 4
  %27 = zext i32 %26 to i64
  %28 = getelementptr inbounds nuw i8, ptr %24, i64 %27
  %29 = getelementptr inbounds nuw i8, ptr %28, i64 %18
  %30 = load i8, ptr %29, align 1
  %31 = icmp eq i8 %30, 0
  br i1 %31, label %32, label %77

32:                                               ; preds = %8
  %33 = or disjoint i32 %17, 1
  %34 = zext i32 %33 to i64
  %35 = getelementptr inbounds nuw i64, ptr %15, i64 %34
  %36 = load i64, ptr %35, align 8
  %37 = icmp eq i64 %36, 0
  br i1 %37, label %77, label %38

38:                                               ; preds = %32
  %39 = getelementptr inbounds nuw i8, ptr %9, i64 168
  %40 = load ptr, ptr %39, align 8
  %41 = getelementptr inbounds nuw %struct.dim_row, ptr %40, i64 %10
  %42 = getelementptr inbounds nuw i8, ptr %41, i64 24
  %43 = load i32, ptr %42, align 8
  %44 = icmp eq i32 %43, 0
  br i1 %44, label %63, label %45

45:                                               ; preds = %38
  %46 = load i64, ptr %41, align 8
  %47 = icmp slt i64 %20, %46
  br i1 %47, label %84, label %48

48:                                               ; preds = %45
  %49 = getelementptr inbounds nuw i8, ptr %41, i64 8
  %50 = load i64, ptr %49, align 8
  %51 = icmp sgt i64 %20, %50
  br i1 %51, label %84, label %52

52:                                               ; preds = %48
  %53 = getelementptr inbounds nuw i8, ptr %41, i64 16
  %54 = load i64, ptr %53, align 8
  %55 = icmp sgt i64 %54, 1
  br i1 %55, label %56, label %59

56:                                               ; preds = %52
  %57 = srem i64 %20, %54
  %58 = icmp ne i64 %57, 0
  br label %59

59:                                               ; preds = %52, %56
  %60 = phi i1 [ false, %52 ], [ %58, %56 ]
  %61 = icmp slt i64 %20, -2147483648
  %62 = select i1 %60, i1 true, i1 %61
  br i1 %62, label %84, label %65

63:                                               ; preds = %38
  %64 = icmp slt i64 %20, -2147483648
  br i1 %64, label %84, label %65

65:                                               ; preds = %59, %63
  %66 = getelementptr inbounds nuw i8, ptr %9, i64 60
  %67 = load i32, ptr %66, align 4
  %68 = zext i32 %67 to i64
  %69 = getelementptr inbounds nuw i8, ptr %11, i64 %68
  %70 = getelementptr inbounds nuw i64, ptr %69, i64 %10
  store i64 %20, ptr %70, align 8
  %71 = shl nuw nsw i64 %10, 1
  %72 = getelementptr inbounds nuw i8, ptr %28, i64 %71
  store i8 1, ptr %72, align 1
  %73 = icmp sgt i64 %20, 2147418112
  %74 = zext i1 %73 to i8
  %75 = getelementptr inbounds nuw i8, ptr %72, i64 1
  store i8 %74, ptr %75, align 1
  %76 = load ptr, ptr %0, align 8
  br label %77

77:                                               ; preds = %65, %32, %8
  %78 = phi ptr [ %76, %65 ], [ %9, %32 ], [ %9, %8 ]
  %79 = add nuw nsw i64 %10, 1
  %80 = getelementptr inbounds nuw i8, ptr %78, i64 40
  %81 = load i32, ptr %80, align 8
  %82 = zext i32 %81 to i64
  %83 = icmp samesign ult i64 %79, %82
  br i1 %83, label %8, label %84, !llvm.loop !48

84:                                               ; preds = %59, %63, %77, %48, %45, %1
  %85 = phi i32 [ 0, %1 ], [ 1, %48 ], [ 1, %63 ], [ 0, %77 ], [ 1, %45 ], [ 1, %59 ]
  ret i32 %85
}

; Function Attrs: nofree noinline norecurse nosync nounwind memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define internal fastcc range(i32 0, 2) i32 @agree(ptr noundef nonnull readonly captures(none) %0) unnamed_addr #5 {
  %2 = alloca i64, align 8
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %4 = load i32, ptr %3, align 8
  %5 = icmp eq i32 %4, 0
  br i1 %5, label %36, label %6

6:                                                ; preds = %1
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %8 = load ptr, ptr %7, align 8
  %9 = load ptr, ptr %0, align 8
  %10 = getelementptr inbounds nuw i8, ptr %9, i64 120
  %11 = load i32, ptr %10, align 8
  %12 = zext i32 %11 to i64
  %13 = getelementptr inbounds nuw i8, ptr %8, i64 %12
  %14 = getelementptr inbounds nuw i8, ptr %9, i64 176
  %15 = load ptr, ptr %14, align 8
  %16 = zext i32 %4 to i64
  br label %20

17:                                               ; preds = %30
  %18 = add nuw nsw i64 %21, 1
  %19 = icmp eq i64 %18, %16
  br i1 %19, label %36, label %20, !llvm.loop !49

20:                                               ; preds = %6, %17
  %21 = phi i64 [ 0, %6 ], [ %18, %17 ]
  call void @llvm.lifetime.start.p0(ptr nonnull %2) #16
  store i64 0, ptr %2, align 8
  %22 = shl nuw i64 %21, 1
  %23 = and i64 %22, 4294967294
  %24 = getelementptr inbounds nuw i64, ptr %13, i64 %23
  %25 = load i64, ptr %24, align 8
  %26 = getelementptr inbounds ptr, ptr %15, i64 %25
  %27 = load ptr, ptr %26, align 8
  %28 = call fastcc i32 @evaluate(ptr noundef %0, ptr noundef %27, ptr noundef %2) #17
  %29 = icmp eq i32 %28, 0
  br i1 %29, label %30, label %35

30:                                               ; preds = %20
  %31 = load i64, ptr %2, align 8
  %32 = getelementptr inbounds nuw i8, ptr %24, i64 8
  %33 = load i64, ptr %32, align 8
  %34 = icmp eq i64 %31, %33
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #16
  br i1 %34, label %17, label %36

35:                                               ; preds = %20
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #16
  br label %36

36:                                               ; preds = %17, %30, %1, %35
  %37 = phi i32 [ 1, %35 ], [ 0, %1 ], [ 0, %17 ], [ 1, %30 ]
  ret i32 %37
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @numbers(ptr noundef nonnull readonly captures(none) %0) unnamed_addr #3 {
  %2 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %3 = load ptr, ptr %2, align 8
  %4 = getelementptr inbounds nuw i8, ptr %3, i64 32
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr inbounds nuw i8, ptr %3, i64 56
  %7 = load ptr, ptr %6, align 8
  %8 = getelementptr inbounds nuw i8, ptr %3, i64 40
  %9 = load i64, ptr %8, align 8
  %10 = getelementptr inbounds nuw i8, ptr %3, i64 48
  %11 = load i64, ptr %10, align 8
  %12 = xor i64 %11, -1
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %14 = load ptr, ptr %13, align 8
  %15 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %16 = load ptr, ptr %15, align 8
  %17 = load ptr, ptr %0, align 8
  %18 = getelementptr inbounds nuw i8, ptr %17, i64 152
  %19 = load ptr, ptr %18, align 8
  %20 = getelementptr inbounds nuw i8, ptr %17, i64 32
  %21 = load i32, ptr %20, align 8
  %22 = zext i32 %21 to i64
  %23 = mul nuw nsw i64 %22, 20
  %24 = getelementptr inbounds nuw i8, ptr %19, i64 %23
  %25 = icmp eq i32 %21, 0
  br i1 %25, label %70, label %26

26:                                               ; preds = %1, %67
  %27 = phi ptr [ %68, %67 ], [ %19, %1 ]
  %28 = load i16, ptr %27, align 4
  %29 = zext i16 %28 to i64
  %30 = getelementptr inbounds nuw ptr, ptr %16, i64 %29
  %31 = load ptr, ptr %30, align 8
  %32 = getelementptr inbounds nuw i8, ptr %27, i64 8
  %33 = load i32, ptr %32, align 4
  %34 = zext i32 %33 to i64
  %35 = getelementptr inbounds nuw i8, ptr %14, i64 %34
  %36 = getelementptr inbounds nuw i8, ptr %27, i64 4
  %37 = load i32, ptr %36, align 4
  switch i32 %37, label %64 [
    i32 0, label %38
    i32 1, label %51
  ]

38:                                               ; preds = %26
  %39 = getelementptr inbounds nuw i8, ptr %31, i64 8
  %40 = load ptr, ptr %39, align 8
  %41 = icmp eq ptr %40, %5
  br i1 %41, label %42, label %64, !prof !4

42:                                               ; preds = %38
  %43 = getelementptr inbounds nuw i8, ptr %31, i64 16
  %44 = load i64, ptr %43, align 8
  %45 = and i64 %44, %12
  %46 = icmp eq i64 %45, %9
  br i1 %46, label %47, label %64, !prof !4

47:                                               ; preds = %42
  %48 = getelementptr inbounds nuw i8, ptr %31, i64 24
  %49 = load i32, ptr %48, align 4
  %50 = zext i32 %49 to i64
  store i64 %50, ptr %35, align 8
  br label %67

51:                                               ; preds = %26
  %52 = getelementptr inbounds nuw i8, ptr %31, i64 8
  %53 = load ptr, ptr %52, align 8
  %54 = icmp eq ptr %53, %7
  br i1 %54, label %55, label %64, !prof !4

55:                                               ; preds = %51
  %56 = getelementptr inbounds nuw i8, ptr %31, i64 16
  %57 = load i64, ptr %56, align 8
  %58 = bitcast i64 %57 to double
  %59 = fptrunc double %58 to float
  %60 = bitcast float %59 to i32
  %61 = zext i32 %60 to i64
  store i64 %61, ptr %35, align 8
  %62 = and i64 %57, 9223372036586340352
  %63 = icmp samesign ugt i64 %62, 5183643170835005439
  br i1 %63, label %64, label %67

64:                                               ; preds = %38, %26, %51, %55, %42
  %65 = tail call fastcc i32 @other_number(ptr noundef %0, ptr noundef nonnull %27) #17
  %66 = icmp eq i32 %65, 0
  br i1 %66, label %67, label %70, !prof !4

67:                                               ; preds = %55, %64, %47
  %68 = getelementptr inbounds nuw i8, ptr %27, i64 20
  %69 = icmp ult ptr %68, %24
  br i1 %69, label %26, label %70, !llvm.loop !50

70:                                               ; preds = %67, %64, %1
  %71 = phi i32 [ 0, %1 ], [ %65, %64 ], [ 0, %67 ]
  ret i32 %71
}

; Function Attrs: mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite)
declare void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly captures(none), ptr noalias readonly captures(none), i64, i1 immarg) #6

; Function Attrs: nofree noinline norecurse nosync nounwind memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define internal fastcc range(i32 0, 5) i32 @grid_of_dims(ptr noundef nonnull readonly captures(none) %0, ptr noundef nonnull writeonly captures(none) initializes((4, 12)) %1) unnamed_addr #5 {
  %3 = alloca i64, align 8
  %4 = getelementptr inbounds nuw i8, ptr %1, i64 8
  store i32 1, ptr %4, align 4
  %5 = getelementptr inbounds nuw i8, ptr %1, i64 4
  store i32 1, ptr %5, align 4
  %6 = load ptr, ptr %0, align 8
  %7 = getelementptr inbounds nuw i8, ptr %6, i64 44
  %8 = load i32, ptr %7, align 4
  %9 = icmp eq i32 %8, 0
  br i1 %9, label %78, label %10

10:                                               ; preds = %2
  %11 = getelementptr inbounds nuw i8, ptr %6, i64 184
  %12 = load ptr, ptr %11, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %3) #16
  %13 = getelementptr inbounds nuw i8, ptr %12, i64 8
  %14 = load i64, ptr %13, align 8
  store i64 %14, ptr %3, align 8
  %15 = load i32, ptr %12, align 8
  %16 = icmp eq i32 %15, 2
  br i1 %16, label %17, label %26

17:                                               ; preds = %10
  %18 = getelementptr inbounds nuw i8, ptr %6, i64 176
  %19 = load ptr, ptr %18, align 8
  %20 = getelementptr inbounds ptr, ptr %19, i64 %14
  %21 = load ptr, ptr %20, align 8
  %22 = call fastcc i32 @evaluate(ptr noundef %0, ptr noundef %21, ptr noundef %3) #17
  %23 = icmp eq i32 %22, 0
  br i1 %23, label %24, label %77

24:                                               ; preds = %17
  %25 = load i64, ptr %3, align 8
  br label %26

26:                                               ; preds = %24, %10
  %27 = phi i64 [ %25, %24 ], [ %14, %10 ]
  %28 = icmp ugt i64 %27, 2147483647
  br i1 %28, label %77, label %29

29:                                               ; preds = %26
  %30 = icmp eq i64 %27, 0
  %31 = zext i1 %30 to i32
  %32 = trunc nuw nsw i64 %27 to i32
  store i32 %32, ptr %1, align 4
  call void @llvm.lifetime.end.p0(ptr nonnull %3) #16
  %33 = load ptr, ptr %0, align 8
  %34 = getelementptr inbounds nuw i8, ptr %33, i64 44
  %35 = load i32, ptr %34, align 4
  %36 = icmp ugt i32 %35, 1
  br i1 %36, label %37, label %72

37:                                               ; preds = %29, %60
  %38 = phi i64 [ %66, %60 ], [ 1, %29 ]
  %39 = phi ptr [ %67, %60 ], [ %33, %29 ]
  %40 = phi i32 [ %63, %60 ], [ %31, %29 ]
  %41 = getelementptr inbounds nuw i8, ptr %39, i64 184
  %42 = load ptr, ptr %41, align 8
  %43 = getelementptr inbounds nuw %struct.rule, ptr %42, i64 %38
  call void @llvm.lifetime.start.p0(ptr nonnull %3) #16
  %44 = getelementptr inbounds nuw i8, ptr %43, i64 8
  %45 = load i64, ptr %44, align 8
  store i64 %45, ptr %3, align 8
  %46 = load i32, ptr %43, align 8
  %47 = icmp eq i32 %46, 2
  br i1 %47, label %48, label %57

48:                                               ; preds = %37
  %49 = getelementptr inbounds nuw i8, ptr %39, i64 176
  %50 = load ptr, ptr %49, align 8
  %51 = getelementptr inbounds ptr, ptr %50, i64 %45
  %52 = load ptr, ptr %51, align 8
  %53 = call fastcc i32 @evaluate(ptr noundef %0, ptr noundef %52, ptr noundef %3) #17
  %54 = icmp eq i32 %53, 0
  br i1 %54, label %55, label %77

55:                                               ; preds = %48
  %56 = load i64, ptr %3, align 8
  br label %57

57:                                               ; preds = %55, %37
  %58 = phi i64 [ %56, %55 ], [ %45, %37 ]
  %59 = icmp ugt i64 %58, 65535
  br i1 %59, label %77, label %60

60:                                               ; preds = %57
  %61 = icmp eq i64 %58, 0
  %62 = zext i1 %61 to i32
  %63 = or i32 %40, %62
  %64 = trunc nuw nsw i64 %58 to i32
  %65 = getelementptr inbounds nuw i32, ptr %1, i64 %38
  store i32 %64, ptr %65, align 4
  call void @llvm.lifetime.end.p0(ptr nonnull %3) #16
  %66 = add nuw nsw i64 %38, 1
  %67 = load ptr, ptr %0, align 8
  %68 = getelementptr inbounds nuw i8, ptr %67, i64 44
  %69 = load i32, ptr %68, align 4
  %70 = zext i32 %69 to i64
  %71 = icmp samesign ult i64 %66, %70
  br i1 %71, label %37, label %72, !llvm.loop !51

72:                                               ; preds = %60, %29
  %73 = phi i32 [ %31, %29 ], [ %63, %60 ]
  %74 = freeze i32 %73
  %75 = icmp eq i32 %74, 0
  %76 = select i1 %75, i32 0, i32 4
  br label %78

77:                                               ; preds = %48, %57, %26, %17
  call void @llvm.lifetime.end.p0(ptr nonnull %3) #16
  br label %78

78:                                               ; preds = %72, %77, %2
  %79 = phi i32 [ 1, %77 ], [ %76, %72 ], [ 0, %2 ]
  ret i32 %79
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @make(ptr noundef nonnull readonly captures(none) %0, ptr noundef readonly captures(none) %1) unnamed_addr #3 {
  %3 = load ptr, ptr %0, align 8
  %4 = getelementptr inbounds nuw i8, ptr %3, i64 84
  %5 = load i32, ptr %4, align 4
  %6 = zext i32 %5 to i64
  %7 = getelementptr inbounds nuw i8, ptr %1, i64 %6
  %8 = getelementptr inbounds nuw i8, ptr %3, i64 152
  %9 = load ptr, ptr %8, align 8
  %10 = getelementptr inbounds nuw i8, ptr %3, i64 32
  %11 = load i32, ptr %10, align 8
  %12 = zext i32 %11 to i64
  %13 = mul nuw nsw i64 %12, 20
  %14 = getelementptr inbounds nuw i8, ptr %9, i64 %13
  %15 = icmp eq i32 %11, 0
  br i1 %15, label %61, label %16

16:                                               ; preds = %2
  %17 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %18 = getelementptr inbounds nuw i8, ptr %0, i64 40
  br label %19

19:                                               ; preds = %16, %56
  %20 = phi ptr [ %9, %16 ], [ %57, %56 ]
  %21 = getelementptr inbounds nuw i8, ptr %20, i64 16
  %22 = load i32, ptr %21, align 4
  %23 = icmp eq i32 %22, 0
  br i1 %23, label %56, label %24

24:                                               ; preds = %19
  %25 = getelementptr inbounds nuw i8, ptr %20, i64 2
  %26 = load i16, ptr %25, align 2
  %27 = icmp eq i16 %26, -1
  %28 = load ptr, ptr %17, align 8
  br i1 %27, label %39, label %29

29:                                               ; preds = %24
  %30 = load ptr, ptr %0, align 8
  %31 = getelementptr inbounds nuw i8, ptr %30, i64 124
  %32 = load i32, ptr %31, align 4
  %33 = zext i32 %32 to i64
  %34 = getelementptr inbounds nuw i8, ptr %28, i64 %33
  %35 = zext i16 %26 to i64
  %36 = getelementptr inbounds nuw i8, ptr %34, i64 %35
  %37 = load i8, ptr %36, align 1
  %38 = icmp eq i8 %37, 0
  br i1 %38, label %56, label %39

39:                                               ; preds = %24, %29
  %40 = load ptr, ptr %18, align 8
  %41 = load i16, ptr %20, align 4
  %42 = zext i16 %41 to i64
  %43 = getelementptr inbounds nuw ptr, ptr %40, i64 %42
  %44 = load ptr, ptr %43, align 8
  %45 = getelementptr inbounds nuw i8, ptr %20, i64 12
  %46 = load i32, ptr %45, align 4
  %47 = zext i32 %46 to i64
  %48 = getelementptr inbounds nuw i32, ptr %7, i64 %47
  %49 = load i32, ptr %48, align 4
  %50 = getelementptr inbounds nuw i8, ptr %20, i64 8
  %51 = load i32, ptr %50, align 4
  %52 = zext i32 %51 to i64
  %53 = getelementptr inbounds nuw i8, ptr %28, i64 %52
  %54 = tail call fastcc i32 @number(ptr noundef %0, ptr noundef %44, i32 noundef %49, ptr noundef %53) #17
  %55 = icmp eq i32 %54, 0
  br i1 %55, label %56, label %124

56:                                               ; preds = %19, %29, %39
  %57 = getelementptr inbounds nuw i8, ptr %20, i64 20
  %58 = icmp ult ptr %57, %14
  br i1 %58, label %19, label %59, !llvm.loop !53

59:                                               ; preds = %56
  %60 = load ptr, ptr %0, align 8
  br label %61

61:                                               ; preds = %59, %2
  %62 = phi ptr [ %60, %59 ], [ %3, %2 ]
  %63 = getelementptr inbounds nuw i8, ptr %62, i64 28
  %64 = load i32, ptr %63, align 4
  %65 = icmp eq i32 %64, 0
  br i1 %65, label %124, label %66

66:                                               ; preds = %61
  %67 = getelementptr inbounds nuw i8, ptr %62, i64 88
  %68 = load i32, ptr %67, align 8
  %69 = zext i32 %68 to i64
  %70 = getelementptr inbounds nuw i8, ptr %1, i64 %69
  %71 = getelementptr inbounds nuw i8, ptr %0, i64 8
  br label %72

72:                                               ; preds = %66, %115
  %73 = phi ptr [ %62, %66 ], [ %116, %115 ]
  %74 = phi ptr [ %62, %66 ], [ %117, %115 ]
  %75 = phi i64 [ 0, %66 ], [ %119, %115 ]
  %76 = phi ptr [ %70, %66 ], [ %118, %115 ]
  %77 = getelementptr inbounds nuw i8, ptr %74, i64 144
  %78 = load ptr, ptr %77, align 8
  %79 = getelementptr inbounds nuw %struct.array_row, ptr %78, i64 %75
  %80 = getelementptr inbounds nuw i8, ptr %79, i64 4
  %81 = load i32, ptr %80, align 4
  %82 = icmp eq i32 %81, 0
  br i1 %82, label %115, label %83

83:                                               ; preds = %72
  %84 = getelementptr inbounds nuw i8, ptr %79, i64 2
  %85 = load i16, ptr %84, align 2
  %86 = icmp eq i16 %85, -1
  %87 = load ptr, ptr %71, align 8
  br i1 %86, label %97, label %88

88:                                               ; preds = %83
  %89 = getelementptr inbounds nuw i8, ptr %74, i64 124
  %90 = load i32, ptr %89, align 4
  %91 = zext i32 %90 to i64
  %92 = getelementptr inbounds nuw i8, ptr %87, i64 %91
  %93 = zext i16 %85 to i64
  %94 = getelementptr inbounds nuw i8, ptr %92, i64 %93
  %95 = load i8, ptr %94, align 1
  %96 = icmp eq i8 %95, 0
  br i1 %96, label %112, label %97

97:                                               ; preds = %83, %88
  %98 = load ptr, ptr %76, align 8
  %99 = getelementptr inbounds nuw i8, ptr %74, i64 108
  %100 = load i32, ptr %99, align 4
  %101 = zext i32 %100 to i64
  %102 = getelementptr inbounds nuw i8, ptr %87, i64 %101
  %103 = getelementptr inbounds nuw %struct.tensor, ptr %102, i64 %75
  %104 = getelementptr inbounds nuw i64, ptr %87, i64 %75
  %105 = load i64, ptr %104, align 8
  %106 = zext i32 %81 to i64
  %107 = getelementptr inbounds nuw i8, ptr %87, i64 %106
  %108 = tail call fastcc i32 @tensor_map(ptr noundef %0, ptr noundef %98, ptr noundef %103, i64 noundef %105, ptr noundef nonnull %107) #17
  %109 = icmp eq i32 %108, 0
  br i1 %109, label %110, label %124

110:                                              ; preds = %97
  %111 = load ptr, ptr %0, align 8
  br label %112

112:                                              ; preds = %110, %88
  %113 = phi ptr [ %111, %110 ], [ %73, %88 ]
  %114 = getelementptr inbounds nuw i8, ptr %76, i64 8
  br label %115

115:                                              ; preds = %112, %72
  %116 = phi ptr [ %73, %72 ], [ %113, %112 ]
  %117 = phi ptr [ %74, %72 ], [ %113, %112 ]
  %118 = phi ptr [ %76, %72 ], [ %114, %112 ]
  %119 = add nuw nsw i64 %75, 1
  %120 = getelementptr inbounds nuw i8, ptr %117, i64 28
  %121 = load i32, ptr %120, align 4
  %122 = zext i32 %121 to i64
  %123 = icmp samesign ult i64 %119, %122
  br i1 %123, label %72, label %124, !llvm.loop !54

124:                                              ; preds = %39, %97, %115, %61
  %125 = phi i32 [ 1, %97 ], [ 0, %61 ], [ 0, %115 ], [ %54, %39 ]
  ret i32 %125
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 5) i32 @read_array(ptr noundef nonnull captures(none) %0, ptr noundef %1, ptr noundef %2) unnamed_addr #3 {
  %4 = alloca ptr, align 8
  store ptr %1, ptr %4, align 8
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %6 = load ptr, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %6, i64 16
  %8 = load ptr, ptr %7, align 8
  %9 = load ptr, ptr %8, align 8
  %10 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %11 = load ptr, ptr %10, align 8
  %12 = icmp eq ptr %9, %11
  br i1 %12, label %36, label %13

13:                                               ; preds = %3
  %14 = tail call fastcc ptr @find_type(ptr noundef nonnull %6, ptr noundef %11) #17
  %15 = icmp eq ptr %14, null
  br i1 %15, label %16, label %33

16:                                               ; preds = %13
  %17 = getelementptr inbounds nuw i8, ptr %6, i64 224
  %18 = load ptr, ptr %17, align 8
  %19 = getelementptr inbounds nuw i8, ptr %6, i64 384
  %20 = load ptr, ptr %19, align 8
  %21 = call ptr %18(ptr noundef %20, ptr noundef nonnull %4, i64 noundef 1, ptr noundef null) #18
  %22 = icmp eq ptr %21, null
  br i1 %22, label %23, label %25

23:                                               ; preds = %16
  %24 = call fastcc i32 @failed(ptr noundef nonnull %6) #17
  br label %189

25:                                               ; preds = %16
  %26 = getelementptr inbounds nuw i8, ptr %6, i64 192
  %27 = load ptr, ptr %26, align 8
  call void %27(ptr noundef nonnull %21) #18
  %28 = load ptr, ptr %4, align 8
  %29 = getelementptr inbounds nuw i8, ptr %28, i64 8
  %30 = load ptr, ptr %29, align 8
  %31 = call fastcc ptr @find_type(ptr noundef nonnull %6, ptr noundef %30) #17
  %32 = icmp eq ptr %31, null
  br i1 %32, label %189, label %33

33:                                               ; preds = %25, %13
  %34 = phi ptr [ %1, %13 ], [ %28, %25 ]
  %35 = phi ptr [ %14, %13 ], [ %31, %25 ]
  store ptr %35, ptr %7, align 8
  br label %36

36:                                               ; preds = %33, %3
  %37 = phi ptr [ %34, %33 ], [ %1, %3 ]
  %38 = phi ptr [ %35, %33 ], [ %8, %3 ]
  %39 = getelementptr inbounds nuw i8, ptr %38, i64 8
  %40 = load i64, ptr %39, align 8
  switch i64 %40, label %189 [
    i64 4, label %41
    i64 3, label %46
    i64 6, label %77
    i64 1, label %157
    i64 2, label %157
  ]

41:                                               ; preds = %36
  %42 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %43 = load i32, ptr %42, align 8
  %44 = icmp eq i32 %43, 0
  %45 = select i1 %44, i32 4, i32 0
  br label %189

46:                                               ; preds = %36
  %47 = getelementptr inbounds nuw i8, ptr %6, i64 240
  %48 = load ptr, ptr %47, align 8
  %49 = getelementptr inbounds nuw i8, ptr %6, i64 360
  %50 = load ptr, ptr %49, align 8
  %51 = call ptr %48(ptr noundef nonnull %37, ptr noundef %50) #18
  %52 = icmp eq ptr %51, null
  br i1 %52, label %53, label %55

53:                                               ; preds = %46
  %54 = call fastcc i32 @failed(ptr noundef nonnull %6) #17
  br label %189

55:                                               ; preds = %46
  %56 = getelementptr inbounds nuw i8, ptr %6, i64 144
  %57 = load ptr, ptr %56, align 8
  %58 = call ptr %57(ptr noundef nonnull %51) #18
  %59 = getelementptr inbounds nuw i8, ptr %6, i64 192
  %60 = load ptr, ptr %59, align 8
  call void %60(ptr noundef nonnull %51) #18
  %61 = load i64, ptr %58, align 8
  store i64 %61, ptr %2, align 8
  %62 = getelementptr inbounds nuw i8, ptr %58, i64 8
  %63 = load i64, ptr %62, align 8
  %64 = getelementptr inbounds nuw i8, ptr %2, i64 8
  store i64 %63, ptr %64, align 8
  %65 = getelementptr inbounds nuw i8, ptr %58, i64 16
  %66 = load i64, ptr %65, align 8
  %67 = getelementptr inbounds nuw i8, ptr %2, i64 16
  store i64 %66, ptr %67, align 8
  %68 = getelementptr inbounds nuw i8, ptr %58, i64 24
  %69 = load i64, ptr %68, align 8
  %70 = getelementptr inbounds nuw i8, ptr %2, i64 24
  store i64 %69, ptr %70, align 8
  %71 = getelementptr inbounds nuw i8, ptr %58, i64 32
  %72 = load i64, ptr %71, align 8
  %73 = getelementptr inbounds nuw i8, ptr %2, i64 32
  store i64 %72, ptr %73, align 8
  %74 = getelementptr inbounds nuw i8, ptr %58, i64 40
  %75 = load i64, ptr %74, align 8
  %76 = getelementptr inbounds nuw i8, ptr %2, i64 40
  store i64 %75, ptr %76, align 8
  br label %189

77:                                               ; preds = %36
  %78 = getelementptr inbounds nuw i8, ptr %6, i64 24
  %79 = load ptr, ptr %78, align 8
  %80 = load i64, ptr %79, align 8
  %81 = getelementptr inbounds nuw i8, ptr %37, i64 %80
  %82 = load ptr, ptr %81, align 8
  %83 = getelementptr inbounds nuw i8, ptr %79, i64 8
  %84 = load i64, ptr %83, align 8
  %85 = getelementptr inbounds nuw i8, ptr %82, i64 %84
  %86 = load i64, ptr %85, align 8
  %87 = getelementptr inbounds nuw i8, ptr %79, i64 72
  %88 = load i64, ptr %87, align 8
  %89 = icmp eq i64 %86, %88
  br i1 %89, label %94, label %90

90:                                               ; preds = %77
  %91 = getelementptr inbounds nuw i8, ptr %79, i64 80
  %92 = load i64, ptr %91, align 8
  %93 = icmp eq i64 %86, %92
  br i1 %93, label %94, label %157, !prof !4

94:                                               ; preds = %90, %77
  %95 = getelementptr inbounds nuw i8, ptr %79, i64 16
  %96 = load i64, ptr %95, align 8
  %97 = getelementptr inbounds nuw i8, ptr %82, i64 %96
  %98 = load i64, ptr %97, align 8
  %99 = getelementptr inbounds nuw i8, ptr %79, i64 48
  %100 = load i64, ptr %99, align 8
  %101 = getelementptr inbounds nuw i8, ptr %82, i64 %100
  %102 = load i16, ptr %101, align 2
  %103 = icmp ugt i64 %98, 5
  %104 = icmp ugt i16 %102, 63
  %105 = select i1 %103, i1 true, i1 %104, !prof !5
  br i1 %105, label %157, label %106, !prof !5

106:                                              ; preds = %94
  %107 = zext nneg i16 %102 to i64
  %108 = getelementptr inbounds nuw i8, ptr %79, i64 88
  %109 = getelementptr inbounds nuw i32, ptr %108, i64 %107
  %110 = load i32, ptr %109, align 4
  %111 = getelementptr inbounds nuw i8, ptr %79, i64 32
  %112 = load i64, ptr %111, align 8
  %113 = getelementptr inbounds nuw i8, ptr %82, i64 %112
  %114 = load ptr, ptr %113, align 8
  %115 = getelementptr inbounds nuw i8, ptr %79, i64 56
  %116 = load i64, ptr %115, align 8
  %117 = getelementptr inbounds nuw i8, ptr %114, i64 %116
  %118 = load i64, ptr %117, align 8
  %119 = getelementptr inbounds nuw i8, ptr %79, i64 40
  %120 = load i64, ptr %119, align 8
  %121 = getelementptr inbounds nuw i8, ptr %82, i64 %120
  %122 = icmp ne i32 %110, 0
  %123 = icmp ne i64 %118, 0
  %124 = select i1 %122, i1 %123, i1 false, !prof !37
  br i1 %124, label %125, label %157, !prof !37

125:                                              ; preds = %106
  %126 = getelementptr inbounds nuw i8, ptr %79, i64 64
  %127 = load i64, ptr %126, align 8
  %128 = getelementptr inbounds nuw i8, ptr %114, i64 %127
  %129 = load i64, ptr %128, align 8
  %130 = icmp eq i64 %118, %129
  br i1 %130, label %131, label %157, !prof !4

131:                                              ; preds = %125
  %132 = load i8, ptr %121, align 1
  %133 = icmp eq i8 %132, 1
  br i1 %133, label %134, label %157, !prof !4

134:                                              ; preds = %131
  %135 = getelementptr inbounds nuw i8, ptr %79, i64 24
  %136 = load i64, ptr %135, align 8
  %137 = getelementptr inbounds nuw i8, ptr %82, i64 %136
  %138 = load i64, ptr %137, align 8
  %139 = lshr i32 %110, 11
  %140 = and i32 %139, 31
  %141 = zext nneg i32 %140 to i64
  %142 = mul i64 %138, %141
  %143 = add i64 %142, %118
  %144 = getelementptr inbounds nuw i8, ptr %121, i64 1
  %145 = load i8, ptr %144, align 1
  %146 = zext i8 %145 to i32
  %147 = trunc nuw nsw i64 %98 to i32
  %148 = getelementptr inbounds nuw i8, ptr %97, i64 8
  %149 = getelementptr inbounds nuw i8, ptr %97, i64 48
  store i64 %143, ptr %2, align 8
  %150 = getelementptr inbounds nuw i8, ptr %2, i64 8
  store i32 2, ptr %150, align 8
  %151 = getelementptr inbounds nuw i8, ptr %2, i64 12
  store i32 %146, ptr %151, align 4
  %152 = getelementptr inbounds nuw i8, ptr %2, i64 40
  store i64 0, ptr %152, align 8
  %153 = getelementptr inbounds nuw i8, ptr %2, i64 20
  store i32 %110, ptr %153, align 4
  %154 = getelementptr inbounds nuw i8, ptr %2, i64 16
  store i32 %147, ptr %154, align 8
  %155 = getelementptr inbounds nuw i8, ptr %2, i64 24
  store ptr %148, ptr %155, align 8
  %156 = getelementptr inbounds nuw i8, ptr %2, i64 32
  store ptr %149, ptr %156, align 8
  br label %179

157:                                              ; preds = %36, %36, %125, %106, %131, %94, %90
  %158 = getelementptr inbounds nuw i8, ptr %2, i64 32
  store ptr null, ptr %158, align 8
  %159 = getelementptr inbounds nuw i8, ptr %38, i64 16
  %160 = load ptr, ptr %159, align 8
  %161 = call i32 %160(ptr noundef nonnull %37, ptr noundef %2) #18
  %162 = icmp eq i32 %161, 0
  br i1 %162, label %165, label %163

163:                                              ; preds = %157
  %164 = call fastcc i32 @failed(ptr noundef nonnull %6) #17
  br label %189

165:                                              ; preds = %157
  %166 = load ptr, ptr %158, align 8
  %167 = icmp eq ptr %166, null
  br i1 %167, label %168, label %172

168:                                              ; preds = %165
  %169 = getelementptr inbounds nuw i8, ptr %2, i64 16
  %170 = load i32, ptr %169, align 8
  %171 = icmp eq i32 %170, 0
  br i1 %171, label %172, label %189

172:                                              ; preds = %168, %165
  %173 = load i64, ptr %39, align 8
  %174 = icmp eq i64 %173, 1
  br i1 %174, label %179, label %175

175:                                              ; preds = %172
  %176 = load ptr, ptr %4, align 8
  %177 = call fastcc i32 @never_negated(ptr noundef nonnull %6, ptr noundef %176, ptr noundef nonnull %2) #17
  %178 = icmp eq i32 %177, 0
  br i1 %178, label %179, label %189

179:                                              ; preds = %172, %175, %134
  %180 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %181 = load ptr, ptr %180, align 8
  %182 = icmp eq ptr %181, null
  br i1 %182, label %183, label %189

183:                                              ; preds = %179
  %184 = getelementptr inbounds nuw i8, ptr %38, i64 24
  %185 = load ptr, ptr %184, align 8
  store ptr %185, ptr %180, align 8
  %186 = getelementptr inbounds nuw i8, ptr %2, i64 12
  %187 = load i32, ptr %186, align 4
  %188 = getelementptr inbounds nuw i8, ptr %0, i64 56
  store i32 %187, ptr %188, align 8
  br label %189

189:                                              ; preds = %55, %36, %163, %175, %168, %183, %179, %23, %53, %25, %41
  %190 = phi i32 [ %45, %41 ], [ 1, %25 ], [ 0, %179 ], [ %24, %23 ], [ %54, %53 ], [ 1, %36 ], [ 1, %168 ], [ %164, %163 ], [ %177, %175 ], [ 0, %183 ], [ 0, %55 ]
  ret i32 %190
}

; Function Attrs: nofree noinline norecurse nosync nounwind memory(read, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define internal fastcc ptr @find_type(ptr noundef readonly captures(none) %0, ptr noundef %1) unnamed_addr #7 {
  %3 = ptrtoint ptr %1 to i64
  %4 = lshr i64 %3, 4
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 368
  %6 = load ptr, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 376
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
  br i1 %25, label %26, label %13, !llvm.loop !55

26:                                               ; preds = %24, %3
  %27 = getelementptr inbounds nuw i8, ptr %0, i64 232
  %28 = load ptr, ptr %27, align 8
  %29 = getelementptr inbounds nuw i8, ptr %0, i64 352
  %30 = load ptr, ptr %29, align 8
  %31 = call ptr %28(ptr noundef %30, ptr noundef nonnull %4, i64 noundef 1, ptr noundef null) #18
  %32 = icmp eq ptr %31, null
  br i1 %32, label %33, label %35

33:                                               ; preds = %26
  %34 = call fastcc i32 @failed(ptr noundef nonnull %0) #17
  br label %42

35:                                               ; preds = %26
  %36 = getelementptr inbounds nuw i8, ptr %0, i64 192
  %37 = load ptr, ptr %36, align 8
  call void %37(ptr noundef nonnull %31) #18
  %38 = getelementptr inbounds nuw i8, ptr %0, i64 320
  %39 = load ptr, ptr %38, align 8
  %40 = icmp ne ptr %31, %39
  %41 = zext i1 %40 to i32
  br label %42

42:                                               ; preds = %19, %33, %35
  %43 = phi i32 [ %34, %33 ], [ %41, %35 ], [ 0, %19 ]
  ret i32 %43
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define internal fastcc range(i32 0, 2) i32 @is_of_variable(ptr noundef captures(none) %0, i32 noundef %1, ptr noundef nonnull writeonly captures(none) %2) unnamed_addr #8 {
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
define internal fastcc range(i32 0, 2) i32 @fit_nested(ptr noundef readonly captures(none) %0, i32 noundef %1, ptr noundef readonly captures(none) %2, ptr noundef readonly captures(none) %3, ptr noundef writeonly captures(none) %4) unnamed_addr #9 {
  %6 = icmp eq i32 %1, 0
  br i1 %6, label %7, label %8

7:                                                ; preds = %5
  store i8 0, ptr %4, align 1
  br label %83

8:                                                ; preds = %5
  %9 = zext i32 %1 to i64
  %10 = and i64 %9, 3
  %11 = icmp ult i32 %1, 4
  br i1 %11, label %16, label %12

12:                                               ; preds = %8
  %13 = and i64 %9, 4294967292
  br label %44

14:                                               ; preds = %44
  %15 = icmp eq i64 %10, 0
  br i1 %15, label %36, label %16

16:                                               ; preds = %14, %8
  %17 = phi i64 [ %9, %8 ], [ %70, %14 ]
  %18 = phi i32 [ 1, %8 ], [ %77, %14 ]
  %19 = phi i64 [ 1, %8 ], [ %80, %14 ]
  %20 = icmp ne i64 %10, 0
  tail call void @llvm.assume(i1 %20)
  br label %21

21:                                               ; preds = %21, %16
  %22 = phi i64 [ %17, %16 ], [ %26, %21 ]
  %23 = phi i32 [ %18, %16 ], [ %30, %21 ]
  %24 = phi i64 [ %19, %16 ], [ %33, %21 ]
  %25 = phi i64 [ 0, %16 ], [ %34, %21 ]
  %26 = add nsw i64 %22, -1
  %27 = getelementptr inbounds nuw i64, ptr %3, i64 %26
  %28 = load i64, ptr %27, align 8
  %29 = icmp eq i64 %28, %24
  %30 = select i1 %29, i32 %23, i32 0
  %31 = getelementptr inbounds nuw i64, ptr %2, i64 %26
  %32 = load i64, ptr %31, align 8
  %33 = mul nsw i64 %32, %24
  %34 = add i64 %25, 1
  %35 = icmp eq i64 %34, %10
  br i1 %35, label %36, label %21, !llvm.loop !56

36:                                               ; preds = %21, %14
  %37 = phi i32 [ %77, %14 ], [ %30, %21 ]
  %38 = phi i64 [ %80, %14 ], [ %33, %21 ]
  %39 = icmp ne i32 %37, 0
  %40 = icmp sgt i64 %38, 1073741824
  %41 = zext i1 %40 to i8
  store i8 %41, ptr %4, align 1
  %42 = icmp slt i64 %38, 2
  %43 = select i1 %42, i1 true, i1 %39
  br i1 %43, label %83, label %89

44:                                               ; preds = %44, %12
  %45 = phi i64 [ %9, %12 ], [ %70, %44 ]
  %46 = phi i32 [ 1, %12 ], [ %77, %44 ]
  %47 = phi i64 [ 1, %12 ], [ %80, %44 ]
  %48 = phi i64 [ 0, %12 ], [ %81, %44 ]
  %49 = add nsw i64 %45, -1
  %50 = getelementptr inbounds nuw i64, ptr %3, i64 %49
  %51 = load i64, ptr %50, align 8
  %52 = icmp eq i64 %51, %47
  %53 = getelementptr inbounds nuw i64, ptr %2, i64 %49
  %54 = load i64, ptr %53, align 8
  %55 = mul nsw i64 %54, %47
  %56 = add nsw i64 %45, -2
  %57 = getelementptr inbounds nuw i64, ptr %3, i64 %56
  %58 = load i64, ptr %57, align 8
  %59 = icmp eq i64 %58, %55
  %60 = getelementptr inbounds nuw i64, ptr %2, i64 %56
  %61 = load i64, ptr %60, align 8
  %62 = mul nsw i64 %61, %55
  %63 = add nsw i64 %45, -3
  %64 = getelementptr inbounds nuw i64, ptr %3, i64 %63
  %65 = load i64, ptr %64, align 8
  %66 = icmp eq i64 %65, %62
  %67 = getelementptr inbounds nuw i64, ptr %2, i64 %63
  %68 = load i64, ptr %67, align 8
  %69 = mul nsw i64 %68, %62
  %70 = add nsw i64 %45, -4
  %71 = getelementptr inbounds nuw i64, ptr %3, i64 %70
  %72 = load i64, ptr %71, align 8
  %73 = icmp eq i64 %72, %69
  %74 = select i1 %73, i1 %66, i1 false
  %75 = select i1 %74, i1 %59, i1 false
  %76 = select i1 %75, i1 %52, i1 false
  %77 = select i1 %76, i32 %46, i32 0
  %78 = getelementptr inbounds nuw i64, ptr %2, i64 %70
  %79 = load i64, ptr %78, align 8
  %80 = mul nsw i64 %79, %69
  %81 = add i64 %48, 4
  %82 = icmp eq i64 %81, %13
  br i1 %82, label %14, label %44, !llvm.loop !57

83:                                               ; preds = %7, %36
  %84 = phi i64 [ 1, %7 ], [ %38, %36 ]
  %85 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %86 = load i64, ptr %85, align 8
  %87 = icmp slt i64 %84, %86
  %88 = zext i1 %87 to i32
  br label %89

89:                                               ; preds = %36, %83
  %90 = phi i32 [ %88, %83 ], [ 1, %36 ]
  ret i32 %90
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define internal fastcc void @put_off(ptr noundef nonnull captures(none) %0, ptr noundef readonly captures(none) %1, i64 noundef %2, i32 noundef range(i32 0, 2) %3) unnamed_addr #10 {
  %5 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %8 = load ptr, ptr %7, align 8
  %9 = load ptr, ptr %0, align 8
  %10 = getelementptr inbounds nuw i8, ptr %9, i64 116
  %11 = load i32, ptr %10, align 4
  %12 = zext i32 %11 to i64
  %13 = getelementptr inbounds nuw i8, ptr %8, i64 %12
  %14 = shl i64 %6, 4
  %15 = getelementptr inbounds nuw i8, ptr %13, i64 %14
  %16 = load i32, ptr %1, align 8
  %17 = icmp eq i32 %16, 2
  %18 = icmp ne i32 %3, 0
  %19 = and i1 %18, %17
  br i1 %19, label %20, label %36

20:                                               ; preds = %4
  %21 = getelementptr inbounds nuw i8, ptr %9, i64 120
  %22 = load i32, ptr %21, align 8
  %23 = zext i32 %22 to i64
  %24 = getelementptr inbounds nuw i8, ptr %8, i64 %23
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %26 = load i32, ptr %25, align 8
  %27 = shl i32 %26, 1
  %28 = zext i32 %27 to i64
  %29 = getelementptr inbounds nuw i64, ptr %24, i64 %28
  store i64 %6, ptr %29, align 8
  %30 = load i32, ptr %25, align 8
  %31 = add i32 %30, 1
  store i32 %31, ptr %25, align 8
  %32 = shl i32 %30, 1
  %33 = or disjoint i32 %32, 1
  %34 = zext i32 %33 to i64
  %35 = getelementptr inbounds nuw i64, ptr %24, i64 %34
  store i64 %2, ptr %35, align 8
  br label %43

36:                                               ; preds = %4
  %37 = icmp eq i32 %16, 1
  br i1 %37, label %38, label %43

38:                                               ; preds = %36
  %39 = getelementptr inbounds nuw i8, ptr %15, i64 8
  %40 = load i64, ptr %39, align 8
  %41 = icmp eq i64 %40, 0
  br i1 %41, label %42, label %43

42:                                               ; preds = %38
  store i64 %2, ptr %15, align 8
  store i64 1, ptr %39, align 8
  br label %43

43:                                               ; preds = %36, %38, %42, %20
  ret void
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @known_constant(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, ptr noundef writeonly captures(none) initializes((0, 8)) %2) unnamed_addr #3 {
  %4 = alloca ptr, align 8
  store ptr %1, ptr %4, align 8
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 32
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
  br label %54

29:                                               ; preds = %3, %16
  %30 = phi i64 [ %21, %16 ], [ %14, %3 ]
  %31 = phi i64 [ %17, %16 ], [ %10, %3 ]
  %32 = icmp eq i64 %30, 0
  br i1 %32, label %33, label %16

33:                                               ; preds = %29
  %34 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %35 = load ptr, ptr %34, align 8
  %36 = getelementptr inbounds nuw i8, ptr %35, i64 224
  %37 = load ptr, ptr %36, align 8
  %38 = load ptr, ptr %5, align 8
  %39 = getelementptr inbounds nuw i8, ptr %38, i64 56
  %40 = load ptr, ptr %39, align 8
  %41 = call ptr %37(ptr noundef %40, ptr noundef nonnull %4, i64 noundef 1, ptr noundef null) #18
  %42 = icmp eq ptr %41, null
  %43 = load ptr, ptr %34, align 8
  br i1 %42, label %44, label %46

44:                                               ; preds = %33
  %45 = call fastcc i32 @failed(ptr noundef %43) #17
  br label %54

46:                                               ; preds = %33
  %47 = getelementptr inbounds nuw i8, ptr %43, i64 120
  %48 = load ptr, ptr %47, align 8
  %49 = call i64 %48(ptr noundef nonnull %41) #18
  %50 = getelementptr inbounds nuw i8, ptr %2, i64 8
  store i64 %49, ptr %50, align 8
  %51 = load ptr, ptr %34, align 8
  %52 = getelementptr inbounds nuw i8, ptr %51, i64 192
  %53 = load ptr, ptr %52, align 8
  call void %53(ptr noundef nonnull %41) #18
  br label %54

54:                                               ; preds = %23, %44, %46
  %55 = phi i32 [ 0, %23 ], [ 0, %46 ], [ %45, %44 ]
  ret i32 %55
}

; Function Attrs: nofree noinline norecurse nosync nounwind memory(read, argmem: readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define internal fastcc range(i32 0, 2) i32 @evaluate(ptr noundef nonnull readonly captures(none) %0, ptr noundef readonly captures(none) %1, ptr noundef nonnull writeonly captures(none) %2) unnamed_addr #11 {
  %4 = alloca [32 x i64], align 16
  call void @llvm.lifetime.start.p0(ptr nonnull %4) #16
  %5 = getelementptr inbounds i8, ptr %4, i64 -8
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 8
  br label %7

7:                                                ; preds = %82, %3
  %8 = phi i64 [ undef, %3 ], [ %83, %82 ]
  %9 = phi ptr [ %5, %3 ], [ %84, %82 ]
  %10 = phi ptr [ %1, %3 ], [ %85, %82 ]
  %11 = load i64, ptr %10, align 8
  switch i64 %11, label %41 [
    i64 0, label %86
    i64 1, label %12
    i64 2, label %16
  ]

12:                                               ; preds = %7
  %13 = getelementptr inbounds nuw i8, ptr %10, i64 8
  %14 = load i64, ptr %13, align 8
  %15 = getelementptr inbounds nuw i8, ptr %9, i64 8
  store i64 %14, ptr %15, align 8
  br label %82

16:                                               ; preds = %7
  %17 = load ptr, ptr %6, align 8
  %18 = load ptr, ptr %0, align 8
  %19 = getelementptr inbounds nuw i8, ptr %18, i64 96
  %20 = load i32, ptr %19, align 8
  %21 = zext i32 %20 to i64
  %22 = getelementptr inbounds nuw i8, ptr %17, i64 %21
  %23 = getelementptr inbounds nuw i8, ptr %18, i64 100
  %24 = load i32, ptr %23, align 4
  %25 = zext i32 %24 to i64
  %26 = getelementptr inbounds nuw i8, ptr %22, i64 %25
  %27 = getelementptr inbounds nuw i8, ptr %10, i64 8
  %28 = load i64, ptr %27, align 8
  %29 = shl nsw i64 %28, 1
  %30 = getelementptr inbounds i8, ptr %26, i64 %29
  %31 = load i8, ptr %30, align 1
  %32 = icmp eq i8 %31, 0
  br i1 %32, label %87, label %33

33:                                               ; preds = %16
  %34 = getelementptr inbounds nuw i8, ptr %18, i64 60
  %35 = load i32, ptr %34, align 4
  %36 = zext i32 %35 to i64
  %37 = getelementptr inbounds nuw i8, ptr %17, i64 %36
  %38 = getelementptr inbounds i64, ptr %37, i64 %28
  %39 = load i64, ptr %38, align 8
  %40 = getelementptr inbounds nuw i8, ptr %9, i64 8
  store i64 %39, ptr %40, align 8
  br label %82

41:                                               ; preds = %7
  %42 = getelementptr inbounds i8, ptr %9, i64 -8
  %43 = load i64, ptr %42, align 8
  %44 = and i64 %11, -2
  %45 = icmp eq i64 %44, 6
  br i1 %45, label %46, label %52

46:                                               ; preds = %41
  %47 = icmp eq i64 %8, 0
  br i1 %47, label %87, label %48

48:                                               ; preds = %46
  %49 = icmp eq i64 %8, -1
  %50 = icmp eq i64 %43, -9223372036854775808
  %51 = select i1 %49, i1 %50, i1 false
  br i1 %51, label %87, label %52

52:                                               ; preds = %41, %48
  switch i64 %11, label %78 [
    i64 3, label %53
    i64 4, label %55
    i64 8, label %57
    i64 9, label %59
    i64 6, label %61
    i64 7, label %70
  ]

53:                                               ; preds = %52
  %54 = add i64 %43, %8
  store i64 %54, ptr %42, align 8
  br label %82

55:                                               ; preds = %52
  %56 = sub i64 %43, %8
  store i64 %56, ptr %42, align 8
  br label %82

57:                                               ; preds = %52
  %58 = tail call i64 @llvm.smin.i64(i64 %43, i64 %8)
  store i64 %58, ptr %42, align 8
  br label %82

59:                                               ; preds = %52
  %60 = tail call i64 @llvm.smax.i64(i64 %43, i64 %8)
  store i64 %60, ptr %42, align 8
  br label %82

61:                                               ; preds = %52
  %62 = sdiv i64 %43, %8
  %63 = srem i64 %43, %8
  %64 = icmp ne i64 %63, 0
  %65 = xor i64 %43, %8
  %66 = icmp slt i64 %65, 0
  %67 = and i1 %66, %64
  %68 = sext i1 %67 to i64
  %69 = add i64 %62, %68
  store i64 %69, ptr %42, align 8
  br label %82

70:                                               ; preds = %52
  %71 = srem i64 %43, %8
  %72 = icmp eq i64 %71, 0
  %73 = xor i64 %43, %8
  %74 = icmp slt i64 %73, 0
  %75 = select i1 %74, i64 %8, i64 0
  %76 = select i1 %72, i64 0, i64 %75
  %77 = add nsw i64 %76, %71
  store i64 %77, ptr %42, align 8
  br label %82

78:                                               ; preds = %52
  %79 = tail call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %43, i64 %8)
  %80 = extractvalue { i64, i1 } %79, 1
  %81 = extractvalue { i64, i1 } %79, 0
  store i64 %81, ptr %42, align 8
  br i1 %80, label %87, label %82

82:                                               ; preds = %53, %57, %61, %78, %70, %59, %55, %12, %33
  %83 = phi i64 [ %14, %12 ], [ %39, %33 ], [ %56, %55 ], [ %60, %59 ], [ %77, %70 ], [ %81, %78 ], [ %69, %61 ], [ %58, %57 ], [ %54, %53 ]
  %84 = phi ptr [ %15, %12 ], [ %40, %33 ], [ %42, %55 ], [ %42, %59 ], [ %42, %70 ], [ %42, %78 ], [ %42, %61 ], [ %42, %57 ], [ %42, %53 ]
  %85 = getelementptr inbounds nuw i8, ptr %10, i64 16
  br label %7, !llvm.loop !58

86:                                               ; preds = %7
  store i64 %8, ptr %2, align 8
  br label %87

87:                                               ; preds = %46, %48, %78, %16, %86
  %88 = phi i32 [ 0, %86 ], [ 1, %16 ], [ 1, %78 ], [ 1, %48 ], [ 1, %46 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %4) #16
  ret i32 %88
}

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64) #12

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @other_number(ptr noundef nonnull readonly captures(none) %0, ptr noundef readonly captures(none) %1) unnamed_addr #3 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %4 = load ptr, ptr %3, align 8
  %5 = load i16, ptr %1, align 4
  %6 = zext i16 %5 to i64
  %7 = getelementptr inbounds nuw ptr, ptr %4, i64 %6
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %1, i64 2
  %10 = load i16, ptr %9, align 2
  %11 = icmp eq i16 %10, -1
  br i1 %11, label %24, label %12

12:                                               ; preds = %2
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %14 = load ptr, ptr %13, align 8
  %15 = load ptr, ptr %0, align 8
  %16 = getelementptr inbounds nuw i8, ptr %15, i64 124
  %17 = load i32, ptr %16, align 4
  %18 = zext i32 %17 to i64
  %19 = getelementptr inbounds nuw i8, ptr %14, i64 %18
  %20 = zext i16 %10 to i64
  %21 = getelementptr inbounds nuw i8, ptr %19, i64 %20
  %22 = load i8, ptr %21, align 1
  %23 = icmp eq i8 %22, 0
  br i1 %23, label %51, label %24

24:                                               ; preds = %2, %12
  %25 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %26 = load i32, ptr %25, align 4
  %27 = icmp eq i32 %26, 0
  br i1 %27, label %41, label %28

28:                                               ; preds = %24
  %29 = getelementptr inbounds nuw i8, ptr %8, i64 8
  %30 = load ptr, ptr %29, align 8
  %31 = ptrtoint ptr %30 to i64
  %32 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %33 = load ptr, ptr %32, align 8
  %34 = load ptr, ptr %0, align 8
  %35 = getelementptr inbounds nuw i8, ptr %34, i64 96
  %36 = load i32, ptr %35, align 8
  %37 = zext i32 %36 to i64
  %38 = getelementptr inbounds nuw i8, ptr %33, i64 %37
  %39 = zext i32 %26 to i64
  %40 = getelementptr inbounds nuw i64, ptr %38, i64 %39
  store i64 %31, ptr %40, align 8
  br label %51

41:                                               ; preds = %24
  %42 = getelementptr inbounds nuw i8, ptr %1, i64 12
  %43 = load i32, ptr %42, align 4
  %44 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %45 = load ptr, ptr %44, align 8
  %46 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %47 = load i32, ptr %46, align 4
  %48 = zext i32 %47 to i64
  %49 = getelementptr inbounds nuw i8, ptr %45, i64 %48
  %50 = tail call fastcc i32 @number(ptr noundef %0, ptr noundef %8, i32 noundef %43, ptr noundef %49) #17
  br label %51

51:                                               ; preds = %12, %41, %28
  %52 = phi i32 [ %50, %41 ], [ 0, %28 ], [ 0, %12 ]
  ret i32 %52
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @number(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, i32 noundef %2, ptr noundef captures(none) %3) unnamed_addr #3 {
  %5 = alloca ptr, align 8
  store ptr %1, ptr %5, align 8
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %7 = load ptr, ptr %6, align 8
  %8 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %9 = load ptr, ptr %8, align 8
  %10 = getelementptr inbounds nuw i8, ptr %7, i64 32
  %11 = load ptr, ptr %10, align 8
  %12 = icmp eq ptr %9, %11
  br i1 %12, label %21, label %13

13:                                               ; preds = %4
  %14 = getelementptr inbounds nuw i8, ptr %7, i64 56
  %15 = load ptr, ptr %14, align 8
  %16 = icmp eq ptr %9, %15
  br i1 %16, label %21, label %17

17:                                               ; preds = %13
  %18 = getelementptr inbounds nuw i8, ptr %7, i64 328
  %19 = load ptr, ptr %18, align 8
  %20 = icmp eq ptr %9, %19
  br i1 %20, label %21, label %23

21:                                               ; preds = %17, %13, %4
  %22 = tail call fastcc i32 @exactly(ptr noundef %0, ptr noundef nonnull %1, i32 noundef %2, ptr noundef %3) #17
  br label %38

23:                                               ; preds = %17
  %24 = getelementptr inbounds nuw i8, ptr %7, i64 224
  %25 = load ptr, ptr %24, align 8
  %26 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %27 = load ptr, ptr %26, align 8
  %28 = getelementptr inbounds nuw i8, ptr %27, i64 48
  %29 = load ptr, ptr %28, align 8
  %30 = call ptr %25(ptr noundef %29, ptr noundef nonnull %5, i64 noundef 1, ptr noundef null) #18
  %31 = icmp eq ptr %30, null
  br i1 %31, label %32, label %34

32:                                               ; preds = %23
  %33 = call fastcc i32 @failed(ptr noundef nonnull %7) #17
  br label %38

34:                                               ; preds = %23
  %35 = call fastcc i32 @exactly(ptr noundef %0, ptr noundef nonnull %30, i32 noundef %2, ptr noundef %3) #17
  %36 = getelementptr inbounds nuw i8, ptr %7, i64 192
  %37 = load ptr, ptr %36, align 8
  call void %37(ptr noundef nonnull %30) #18
  br label %38

38:                                               ; preds = %32, %34, %21
  %39 = phi i32 [ %22, %21 ], [ %35, %34 ], [ %33, %32 ]
  ret i32 %39
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @exactly(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, i32 noundef %2, ptr noundef captures(none) %3) unnamed_addr #3 {
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %6 = load ptr, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %8 = load ptr, ptr %7, align 8
  %9 = icmp ugt i32 %2, 15
  br i1 %9, label %10, label %38

10:                                               ; preds = %4
  %11 = getelementptr inbounds nuw i8, ptr %6, i64 32
  %12 = load ptr, ptr %11, align 8
  %13 = icmp eq ptr %8, %12
  br i1 %13, label %14, label %169

14:                                               ; preds = %10
  %15 = getelementptr inbounds nuw i8, ptr %6, i64 128
  %16 = load ptr, ptr %15, align 8
  %17 = tail call i64 %16(ptr noundef nonnull %1) #18
  store i64 %17, ptr %3, align 8
  %18 = icmp eq i64 %17, -1
  br i1 %18, label %19, label %29

19:                                               ; preds = %14
  %20 = getelementptr inbounds nuw i8, ptr %6, i64 160
  %21 = load ptr, ptr %20, align 8
  %22 = tail call ptr %21() #18
  %23 = icmp eq ptr %22, null
  br i1 %23, label %24, label %26

24:                                               ; preds = %19
  %25 = load i64, ptr %3, align 8
  br label %29

26:                                               ; preds = %19
  %27 = getelementptr inbounds nuw i8, ptr %6, i64 168
  %28 = load ptr, ptr %27, align 8
  tail call void %28() #18
  br label %169

29:                                               ; preds = %24, %14
  %30 = phi i64 [ %25, %24 ], [ %17, %14 ]
  %31 = add i32 %2, -16
  %32 = zext nneg i32 %31 to i64
  %33 = shl nsw i64 -1, %32
  %34 = xor i64 %33, -1
  %35 = and i64 %30, %34
  %36 = icmp ne i64 %35, 0
  %37 = zext i1 %36 to i32
  br label %169

38:                                               ; preds = %4
  %39 = icmp eq i32 %2, 0
  br i1 %39, label %40, label %49

40:                                               ; preds = %38
  %41 = getelementptr inbounds nuw i8, ptr %6, i64 312
  %42 = load ptr, ptr %41, align 8
  %43 = icmp eq ptr %1, %42
  %44 = zext i1 %43 to i64
  store i64 %44, ptr %3, align 8
  %45 = getelementptr inbounds nuw i8, ptr %6, i64 328
  %46 = load ptr, ptr %45, align 8
  %47 = icmp ne ptr %8, %46
  %48 = zext i1 %47 to i32
  br label %169

49:                                               ; preds = %38
  %50 = icmp samesign ult i32 %2, 9
  br i1 %50, label %51, label %141

51:                                               ; preds = %49
  %52 = getelementptr inbounds nuw i8, ptr %6, i64 32
  %53 = load ptr, ptr %52, align 8
  %54 = icmp eq ptr %8, %53
  br i1 %54, label %59, label %55

55:                                               ; preds = %51
  %56 = getelementptr inbounds nuw i8, ptr %6, i64 328
  %57 = load ptr, ptr %56, align 8
  %58 = icmp eq ptr %8, %57
  br i1 %58, label %59, label %169

59:                                               ; preds = %55, %51
  %60 = icmp eq i32 %2, 8
  br i1 %60, label %61, label %74

61:                                               ; preds = %59
  %62 = getelementptr inbounds nuw i8, ptr %6, i64 128
  %63 = load ptr, ptr %62, align 8
  %64 = tail call i64 %63(ptr noundef nonnull %1) #18
  store i64 %64, ptr %3, align 8
  %65 = icmp eq i64 %64, -1
  br i1 %65, label %66, label %169

66:                                               ; preds = %61
  %67 = getelementptr inbounds nuw i8, ptr %6, i64 160
  %68 = load ptr, ptr %67, align 8
  %69 = tail call ptr %68() #18
  %70 = icmp eq ptr %69, null
  br i1 %70, label %169, label %71

71:                                               ; preds = %66
  %72 = getelementptr inbounds nuw i8, ptr %6, i64 168
  %73 = load ptr, ptr %72, align 8
  tail call void %73() #18
  br label %169

74:                                               ; preds = %59
  %75 = icmp samesign ult i32 %2, 5
  br i1 %75, label %76, label %82

76:                                               ; preds = %74
  switch i32 %2, label %78 [
    i32 4, label %89
    i32 3, label %79
    i32 2, label %77
  ]

77:                                               ; preds = %76
  br label %79

78:                                               ; preds = %76
  br label %79

79:                                               ; preds = %77, %76, %78
  %80 = phi i64 [ 32, %76 ], [ 56, %78 ], [ 48, %77 ]
  %81 = ashr exact i64 -9223372036854775808, %80
  br label %82

82:                                               ; preds = %74, %79
  %83 = phi i64 [ %81, %79 ], [ 0, %74 ]
  %84 = and i32 %2, 3
  %85 = icmp eq i32 %84, 3
  br i1 %85, label %89, label %86

86:                                               ; preds = %82
  %87 = icmp eq i32 %84, 2
  %88 = select i1 %87, i64 48, i64 56
  br label %89

89:                                               ; preds = %76, %82, %86
  %90 = phi i1 [ false, %82 ], [ false, %86 ], [ true, %76 ]
  %91 = phi i64 [ %83, %82 ], [ %83, %86 ], [ -9223372036854775808, %76 ]
  %92 = phi i64 [ 32, %82 ], [ %88, %86 ], [ 0, %76 ]
  %93 = lshr i64 -1, %92
  %94 = zext i1 %75 to i64
  %95 = lshr i64 %93, %94
  %96 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %97 = load i64, ptr %96, align 8
  %98 = getelementptr inbounds nuw i8, ptr %6, i64 48
  %99 = load i64, ptr %98, align 8
  %100 = xor i64 %99, -1
  %101 = and i64 %97, %100
  %102 = getelementptr inbounds nuw i8, ptr %6, i64 40
  %103 = load i64, ptr %102, align 8
  %104 = icmp eq i64 %101, %103
  br i1 %104, label %105, label %109

105:                                              ; preds = %89
  %106 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %107 = load i32, ptr %106, align 4
  %108 = zext i32 %107 to i64
  br label %122

109:                                              ; preds = %89
  %110 = getelementptr inbounds nuw i8, ptr %6, i64 120
  %111 = load ptr, ptr %110, align 8
  %112 = tail call i64 %111(ptr noundef nonnull %1) #18
  %113 = icmp eq i64 %112, -1
  br i1 %113, label %114, label %122

114:                                              ; preds = %109
  %115 = getelementptr inbounds nuw i8, ptr %6, i64 160
  %116 = load ptr, ptr %115, align 8
  %117 = tail call ptr %116() #18
  %118 = icmp eq ptr %117, null
  br i1 %118, label %122, label %119

119:                                              ; preds = %114
  %120 = getelementptr inbounds nuw i8, ptr %6, i64 168
  %121 = load ptr, ptr %120, align 8
  tail call void %121() #18
  br label %128

122:                                              ; preds = %114, %109, %105
  %123 = phi i64 [ -1, %114 ], [ %112, %109 ], [ %108, %105 ]
  %124 = icmp slt i64 %123, %91
  %125 = icmp sgt i64 %123, %95
  %126 = select i1 %124, i1 true, i1 %125
  %127 = zext i1 %126 to i32
  br label %128

128:                                              ; preds = %119, %122
  %129 = phi i64 [ %123, %122 ], [ -1, %119 ]
  %130 = phi i32 [ %127, %122 ], [ 1, %119 ]
  br i1 %90, label %137, label %131

131:                                              ; preds = %128
  %132 = and i32 %2, 3
  %133 = icmp eq i32 %132, 3
  br i1 %133, label %137, label %134

134:                                              ; preds = %131
  %135 = icmp eq i32 %132, 2
  %136 = select i1 %135, i64 48, i64 56
  br label %137

137:                                              ; preds = %128, %131, %134
  %138 = phi i64 [ 0, %128 ], [ %136, %134 ], [ 32, %131 ]
  %139 = lshr i64 -1, %138
  %140 = and i64 %139, %129
  store i64 %140, ptr %3, align 8
  br label %169

141:                                              ; preds = %49
  %142 = getelementptr inbounds nuw i8, ptr %6, i64 56
  %143 = load ptr, ptr %142, align 8
  %144 = icmp eq ptr %8, %143
  br i1 %144, label %145, label %148

145:                                              ; preds = %141
  %146 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %147 = load i64, ptr %146, align 8
  br label %166

148:                                              ; preds = %141
  %149 = getelementptr inbounds nuw i8, ptr %6, i64 32
  %150 = load ptr, ptr %149, align 8
  %151 = icmp eq ptr %8, %150
  br i1 %151, label %152, label %169

152:                                              ; preds = %148
  %153 = getelementptr inbounds nuw i8, ptr %6, i64 136
  %154 = load ptr, ptr %153, align 8
  %155 = tail call double %154(ptr noundef nonnull %1) #18
  %156 = bitcast double %155 to i64
  %157 = icmp eq i64 %156, -4616189618054758400
  br i1 %157, label %158, label %166

158:                                              ; preds = %152
  %159 = getelementptr inbounds nuw i8, ptr %6, i64 160
  %160 = load ptr, ptr %159, align 8
  %161 = tail call ptr %160() #18
  %162 = icmp eq ptr %161, null
  br i1 %162, label %166, label %163

163:                                              ; preds = %158
  %164 = getelementptr inbounds nuw i8, ptr %6, i64 168
  %165 = load ptr, ptr %164, align 8
  tail call void %165() #18
  br label %169

166:                                              ; preds = %152, %158, %145
  %167 = phi i64 [ %156, %152 ], [ -4616189618054758400, %158 ], [ %147, %145 ]
  %168 = tail call fastcc i32 @fit_float(i64 noundef %167, i32 noundef %2, ptr noundef %3) #17
  br label %169

169:                                              ; preds = %148, %61, %66, %55, %10, %166, %163, %137, %71, %40, %29, %26
  %170 = phi i32 [ 1, %163 ], [ 1, %26 ], [ %37, %29 ], [ %48, %40 ], [ 1, %10 ], [ 1, %71 ], [ 1, %55 ], [ %130, %137 ], [ %168, %166 ], [ 0, %61 ], [ 0, %66 ], [ 1, %148 ]
  ret i32 %170
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define internal fastcc range(i32 0, 2) i32 @fit_float(i64 noundef %0, i32 noundef range(i32 9, 16) %1, ptr noundef captures(none) initializes((0, 8)) %2) unnamed_addr #8 {
  %4 = tail call fastcc i32 @rounded(i64 noundef %0, i32 noundef %1, ptr noundef %2) #17
  ret i32 %4
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define internal fastcc range(i32 0, 2) i32 @rounded(i64 noundef %0, i32 noundef range(i32 9, 16) %1, ptr noundef captures(none) initializes((0, 8)) %2) unnamed_addr #8 {
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

; Function Attrs: nounwind
define internal fastcc range(i32 0, 2) i32 @tensor_map(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, ptr noundef readonly captures(none) %2, i64 noundef %3, ptr noundef writeonly captures(none) %4) unnamed_addr #0 {
  %6 = getelementptr inbounds nuw i8, ptr %2, i64 24
  %7 = load ptr, ptr %6, align 8
  %8 = getelementptr inbounds nuw i8, ptr %2, i64 32
  %9 = load ptr, ptr %8, align 8
  %10 = getelementptr inbounds nuw i8, ptr %1, i64 12
  %11 = load i32, ptr %10, align 4
  %12 = icmp eq i32 %11, 0
  br i1 %12, label %13, label %21

13:                                               ; preds = %5
  %14 = getelementptr inbounds nuw i8, ptr %1, i64 128
  %15 = mul i64 %3, 28284495232021
  %16 = lshr i64 %15, 40
  %17 = and i64 %16, 31
  %18 = getelementptr inbounds nuw %struct.map_entry, ptr %14, i64 %17
  %19 = load i64, ptr %18, align 8
  %20 = xor i64 %19, %3
  br label %77

21:                                               ; preds = %5
  %22 = zext i32 %11 to i64
  %23 = and i64 %22, 1
  %24 = icmp eq i32 %11, 1
  br i1 %24, label %29, label %25

25:                                               ; preds = %21
  %26 = and i64 %22, 4294967294
  br label %53

27:                                               ; preds = %53
  %28 = icmp eq i64 %23, 0
  br i1 %28, label %41, label %29

29:                                               ; preds = %27, %21
  %30 = phi i64 [ 0, %21 ], [ %74, %27 ]
  %31 = phi i64 [ %3, %21 ], [ %73, %27 ]
  %32 = icmp ne i64 %23, 0
  tail call void @llvm.assume(i1 %32)
  %33 = mul i64 %31, -7046029254386353131
  %34 = getelementptr inbounds nuw i64, ptr %7, i64 %30
  %35 = load i64, ptr %34, align 8
  %36 = xor i64 %35, %33
  %37 = mul i64 %36, -7046029254386353131
  %38 = getelementptr inbounds nuw i64, ptr %9, i64 %30
  %39 = load i64, ptr %38, align 8
  %40 = xor i64 %37, %39
  br label %41

41:                                               ; preds = %27, %29
  %42 = phi i64 [ %73, %27 ], [ %40, %29 ]
  %43 = getelementptr inbounds nuw i8, ptr %1, i64 128
  %44 = mul i64 %42, 28284495232021
  %45 = lshr i64 %44, 40
  %46 = and i64 %45, 31
  %47 = getelementptr inbounds nuw %struct.map_entry, ptr %43, i64 %46
  %48 = load i64, ptr %47, align 8
  %49 = xor i64 %48, %3
  %50 = getelementptr inbounds nuw i8, ptr %47, i64 8
  %51 = getelementptr inbounds nuw i8, ptr %47, i64 48
  %52 = zext i32 %11 to i64
  br label %81

53:                                               ; preds = %53, %25
  %54 = phi i64 [ 0, %25 ], [ %74, %53 ]
  %55 = phi i64 [ %3, %25 ], [ %73, %53 ]
  %56 = phi i64 [ 0, %25 ], [ %75, %53 ]
  %57 = mul i64 %55, -7046029254386353131
  %58 = getelementptr inbounds nuw i64, ptr %7, i64 %54
  %59 = load i64, ptr %58, align 8
  %60 = xor i64 %59, %57
  %61 = mul i64 %60, -7046029254386353131
  %62 = getelementptr inbounds nuw i64, ptr %9, i64 %54
  %63 = load i64, ptr %62, align 8
  %64 = xor i64 %61, %63
  %65 = or disjoint i64 %54, 1
  %66 = mul i64 %64, -7046029254386353131
  %67 = getelementptr inbounds nuw i64, ptr %7, i64 %65
  %68 = load i64, ptr %67, align 8
  %69 = xor i64 %68, %66
  %70 = mul i64 %69, -7046029254386353131
  %71 = getelementptr inbounds nuw i64, ptr %9, i64 %65
  %72 = load i64, ptr %71, align 8
  %73 = xor i64 %70, %72
  %74 = add nuw nsw i64 %54, 2
  %75 = add i64 %56, 2
  %76 = icmp eq i64 %75, %26
  br i1 %76, label %27, label %53, !llvm.loop !62

77:                                               ; preds = %81, %13
  %78 = phi ptr [ %18, %13 ], [ %47, %81 ]
  %79 = phi i64 [ %20, %13 ], [ %95, %81 ]
  %80 = icmp eq i64 %79, 0
  br i1 %80, label %101, label %98, !prof !4

81:                                               ; preds = %41, %81
  %82 = phi i64 [ 0, %41 ], [ %96, %81 ]
  %83 = phi i64 [ %49, %41 ], [ %95, %81 ]
  %84 = getelementptr inbounds nuw i64, ptr %7, i64 %82
  %85 = load i64, ptr %84, align 8
  %86 = getelementptr inbounds nuw i64, ptr %50, i64 %82
  %87 = load i64, ptr %86, align 8
  %88 = xor i64 %87, %85
  %89 = getelementptr inbounds nuw i64, ptr %9, i64 %82
  %90 = load i64, ptr %89, align 8
  %91 = getelementptr inbounds nuw i64, ptr %51, i64 %82
  %92 = load i64, ptr %91, align 8
  %93 = xor i64 %92, %90
  %94 = or i64 %88, %83
  %95 = or i64 %94, %93
  %96 = add nuw nsw i64 %82, 1
  %97 = icmp eq i64 %96, %52
  br i1 %97, label %77, label %81, !llvm.loop !63

98:                                               ; preds = %77
  %99 = tail call fastcc i32 @renew(ptr noundef %0, ptr noundef nonnull %1, ptr noundef nonnull %2, i64 noundef %3, ptr noundef nonnull %78) #17
  %100 = icmp eq i32 %99, 0
  br i1 %100, label %101, label %125

101:                                              ; preds = %98, %77
  %102 = getelementptr inbounds nuw i8, ptr %78, i64 128
  %103 = load <2 x i64>, ptr %102, align 8
  %104 = getelementptr inbounds nuw i8, ptr %78, i64 144
  %105 = load <2 x i64>, ptr %104, align 8
  %106 = getelementptr inbounds nuw i8, ptr %78, i64 160
  %107 = load <2 x i64>, ptr %106, align 8
  %108 = getelementptr inbounds nuw i8, ptr %78, i64 176
  %109 = load <2 x i64>, ptr %108, align 8
  %110 = getelementptr inbounds nuw i8, ptr %78, i64 192
  %111 = load <2 x i64>, ptr %110, align 8
  %112 = getelementptr inbounds nuw i8, ptr %78, i64 208
  %113 = load <2 x i64>, ptr %112, align 8
  %114 = getelementptr inbounds nuw i8, ptr %78, i64 224
  %115 = load <2 x i64>, ptr %114, align 8
  %116 = getelementptr inbounds nuw i8, ptr %78, i64 240
  %117 = load <2 x i64>, ptr %116, align 8
  store <2 x i64> %103, ptr %4, align 8
  %118 = getelementptr inbounds nuw i8, ptr %4, i64 16
  store <2 x i64> %105, ptr %118, align 8
  %119 = getelementptr inbounds nuw i8, ptr %4, i64 32
  store <2 x i64> %107, ptr %119, align 8
  %120 = getelementptr inbounds nuw i8, ptr %4, i64 48
  store <2 x i64> %109, ptr %120, align 8
  %121 = getelementptr inbounds nuw i8, ptr %4, i64 64
  store <2 x i64> %111, ptr %121, align 8
  %122 = getelementptr inbounds nuw i8, ptr %4, i64 80
  store <2 x i64> %113, ptr %122, align 8
  %123 = getelementptr inbounds nuw i8, ptr %4, i64 96
  store <2 x i64> %115, ptr %123, align 8
  %124 = getelementptr inbounds nuw i8, ptr %4, i64 112
  store <2 x i64> %117, ptr %124, align 8
  br label %125

125:                                              ; preds = %98, %101
  %126 = phi i32 [ 0, %101 ], [ 1, %98 ]
  ret i32 %126
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @renew(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, ptr noundef readonly captures(none) %2, i64 noundef %3, ptr noundef writeonly captures(none) %4) unnamed_addr #3 {
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
  br i1 %58, label %45, label %59, !llvm.loop !64

59:                                               ; preds = %45, %13, %5
  %60 = phi i32 [ 1, %5 ], [ 0, %13 ], [ 0, %45 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %6) #16
  ret i32 %60
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @encode(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, ptr noundef readonly captures(none) %2, i64 noundef %3, ptr noundef %4) unnamed_addr #3 {
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
  br i1 %12, label %13, label %111

13:                                               ; preds = %5
  %14 = icmp eq i32 %10, 0
  br i1 %14, label %83, label %15

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
  br i1 %27, label %111, label %28

28:                                               ; preds = %15
  %29 = getelementptr inbounds nuw i64, ptr %19, i64 %23
  %30 = load i64, ptr %29, align 8
  store i64 %25, ptr %6, align 16
  store i32 1, ptr %8, align 16
  %31 = icmp ne i64 %30, 1
  %32 = icmp ne i64 %25, 1
  %33 = and i1 %32, %31
  br i1 %33, label %111, label %34

34:                                               ; preds = %28
  %35 = icmp eq i32 %10, 1
  br i1 %35, label %83, label %36

36:                                               ; preds = %34
  %37 = load i32, ptr %20, align 4
  %38 = zext i32 %37 to i64
  %39 = mul nuw i64 %25, %38
  %40 = add nuw i64 %39, 31
  %41 = and i64 %40, -32
  br label %42

42:                                               ; preds = %36, %78
  %43 = phi i64 [ %81, %78 ], [ 1, %36 ]
  %44 = phi i64 [ %80, %78 ], [ %41, %36 ]
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
  br i1 %54, label %111, label %55

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
  br i1 %66, label %67, label %111

67:                                               ; preds = %59, %55
  %68 = phi i64 [ %62, %59 ], [ %44, %55 ]
  %69 = add nuw i64 %43, 4294967295
  %70 = and i64 %69, 4294967295
  %71 = getelementptr inbounds nuw i64, ptr %7, i64 %70
  store i64 %68, ptr %71, align 8
  %72 = icmp eq i64 %68, 0
  br i1 %72, label %76, label %73

73:                                               ; preds = %67
  %74 = udiv i64 1099511627744, %68
  %75 = icmp samesign ugt i64 %50, %74
  br i1 %75, label %78, label %76

76:                                               ; preds = %73, %67
  %77 = mul i64 %68, %50
  br label %78

78:                                               ; preds = %76, %73
  %79 = phi i64 [ %77, %76 ], [ 1099511627744, %73 ]
  %80 = tail call i64 @llvm.umax.i64(i64 %79, i64 %44)
  %81 = add nuw nsw i64 %43, 1
  %82 = icmp eq i64 %81, %21
  br i1 %82, label %83, label %42, !llvm.loop !65

83:                                               ; preds = %78, %34, %13
  %84 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %85 = load i32, ptr %84, align 4
  %86 = icmp eq i32 %85, 0
  %87 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %88 = load ptr, ptr %87, align 8
  %89 = load i32, ptr %1, align 4
  br i1 %86, label %103, label %90

90:                                               ; preds = %83
  %91 = getelementptr inbounds nuw i8, ptr %88, i64 304
  %92 = load ptr, ptr %91, align 8
  %93 = getelementptr inbounds nuw i8, ptr %1, i64 40
  %94 = getelementptr inbounds nuw i8, ptr %1, i64 52
  %95 = getelementptr inbounds nuw i8, ptr %1, i64 20
  %96 = load i32, ptr %95, align 4
  %97 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %98 = load i32, ptr %97, align 4
  %99 = getelementptr inbounds nuw i8, ptr %1, i64 4
  %100 = load i32, ptr %99, align 4
  %101 = call i32 %92(ptr noundef %4, i32 noundef %89, i32 noundef %10, i64 noundef %3, ptr noundef nonnull %6, ptr noundef nonnull %7, ptr noundef nonnull %93, ptr noundef nonnull %94, i32 noundef %96, i32 noundef %98, ptr noundef nonnull %8, i32 noundef 0, i32 noundef %100, i32 noundef 2, i32 noundef 0) #18
  %102 = icmp ne i32 %101, 0
  br label %111

103:                                              ; preds = %83
  %104 = getelementptr inbounds nuw i8, ptr %88, i64 296
  %105 = load ptr, ptr %104, align 8
  %106 = getelementptr inbounds nuw i8, ptr %1, i64 20
  %107 = getelementptr inbounds nuw i8, ptr %1, i64 4
  %108 = load i32, ptr %107, align 4
  %109 = call i32 %105(ptr noundef %4, i32 noundef %89, i32 noundef %10, i64 noundef %3, ptr noundef nonnull %6, ptr noundef nonnull %7, ptr noundef nonnull %106, ptr noundef nonnull %8, i32 noundef 0, i32 noundef %108, i32 noundef 2, i32 noundef 0) #18
  %110 = icmp ne i32 %109, 0
  br label %111

111:                                              ; preds = %59, %42, %15, %28, %5, %103, %90
  %112 = phi i1 [ true, %5 ], [ %102, %90 ], [ %110, %103 ], [ true, %28 ], [ true, %15 ], [ true, %42 ], [ true, %59 ]
  %113 = zext i1 %112 to i32
  call void @llvm.lifetime.end.p0(ptr nonnull %8) #16
  call void @llvm.lifetime.end.p0(ptr nonnull %7) #16
  call void @llvm.lifetime.end.p0(ptr nonnull %6) #16
  ret i32 %113
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @submit_all(ptr noundef nonnull readonly captures(none) %0, ptr noundef readonly captures(none) %1) unnamed_addr #3 {
  %3 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %4 = load ptr, ptr %3, align 8
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %6 = load ptr, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %8 = load ptr, ptr %7, align 8
  %9 = load i64, ptr %4, align 8
  %10 = icmp eq i64 %9, 0
  br i1 %10, label %11, label %103

11:                                               ; preds = %2
  %12 = getelementptr inbounds nuw i8, ptr %4, i64 8
  %13 = load i64, ptr %12, align 8
  %14 = icmp eq i64 %13, 0
  br i1 %14, label %19, label %15

15:                                               ; preds = %11
  %16 = getelementptr inbounds nuw i8, ptr %4, i64 16
  %17 = load ptr, ptr %16, align 8
  %18 = icmp eq ptr %8, %17
  br i1 %18, label %19, label %103

19:                                               ; preds = %15, %11
  %20 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %21 = load i64, ptr %20, align 8
  %22 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %23 = load ptr, ptr %22, align 8
  %24 = load ptr, ptr %0, align 8
  %25 = getelementptr inbounds nuw i8, ptr %24, i64 96
  %26 = load i32, ptr %25, align 8
  %27 = zext i32 %26 to i64
  %28 = getelementptr inbounds nuw i8, ptr %23, i64 %27
  %29 = getelementptr inbounds nuw i8, ptr %28, i64 8
  %30 = load i64, ptr %29, align 8
  %31 = icmp eq i64 %21, %30
  br i1 %31, label %32, label %103

32:                                               ; preds = %19
  %33 = getelementptr inbounds nuw i8, ptr %4, i64 40
  %34 = load ptr, ptr %33, align 8
  %35 = getelementptr inbounds nuw i8, ptr %4, i64 24
  %36 = load i64, ptr %35, align 8
  %37 = mul nuw nsw i64 %36, 48
  %38 = getelementptr inbounds nuw i8, ptr %34, i64 %37
  %39 = icmp eq i64 %36, 0
  br i1 %39, label %70, label %40

40:                                               ; preds = %32, %67
  %41 = phi ptr [ %68, %67 ], [ %34, %32 ]
  %42 = load ptr, ptr %22, align 8
  %43 = load i64, ptr %41, align 8
  %44 = getelementptr inbounds nuw i64, ptr %42, i64 %43
  %45 = load i64, ptr %44, align 8
  %46 = getelementptr inbounds nuw i8, ptr %41, i64 8
  %47 = load i64, ptr %46, align 8
  %48 = add i64 %47, %45
  %49 = getelementptr inbounds nuw i8, ptr %41, i64 16
  %50 = load i64, ptr %49, align 8
  %51 = and i64 %48, %50
  %52 = icmp eq i64 %51, 0
  br i1 %52, label %53, label %103

53:                                               ; preds = %40
  %54 = getelementptr inbounds nuw i8, ptr %41, i64 40
  %55 = load ptr, ptr %54, align 8
  %56 = icmp eq ptr %55, null
  br i1 %56, label %57, label %60

57:                                               ; preds = %53
  %58 = getelementptr inbounds nuw i8, ptr %41, i64 24
  %59 = load ptr, ptr %58, align 8
  store i64 %48, ptr %59, align 8
  br label %67

60:                                               ; preds = %53
  %61 = getelementptr inbounds nuw i8, ptr %41, i64 32
  %62 = load ptr, ptr %61, align 8
  %63 = getelementptr inbounds nuw i8, ptr %41, i64 24
  %64 = load ptr, ptr %63, align 8
  %65 = tail call fastcc i32 @tensor_map(ptr noundef %0, ptr noundef %62, ptr noundef nonnull %55, i64 noundef %48, ptr noundef %64) #17
  %66 = icmp eq i32 %65, 0
  br i1 %66, label %67, label %103

67:                                               ; preds = %60, %57
  %68 = getelementptr inbounds nuw i8, ptr %41, i64 48
  %69 = icmp ult ptr %68, %38
  br i1 %69, label %40, label %70, !llvm.loop !66

70:                                               ; preds = %67, %32
  store i64 1, ptr %4, align 8
  %71 = getelementptr inbounds nuw i8, ptr %6, i64 72
  %72 = load ptr, ptr %71, align 8
  %73 = tail call ptr %72() #18
  %74 = getelementptr inbounds nuw i8, ptr %4, i64 48
  %75 = load ptr, ptr %74, align 8
  %76 = getelementptr inbounds nuw i8, ptr %4, i64 32
  %77 = load i64, ptr %76, align 8
  %78 = mul nuw nsw i64 %77, 72
  %79 = getelementptr inbounds nuw i8, ptr %75, i64 %78
  %80 = icmp eq i64 %77, 0
  br i1 %80, label %86, label %81

81:                                               ; preds = %70
  %82 = getelementptr inbounds nuw i8, ptr %6, i64 80
  br label %90

83:                                               ; preds = %90
  %84 = xor i1 %101, true
  %85 = zext i1 %84 to i32
  br label %86

86:                                               ; preds = %83, %70
  %87 = phi i32 [ 0, %70 ], [ %85, %83 ]
  %88 = getelementptr inbounds nuw i8, ptr %6, i64 88
  %89 = load ptr, ptr %88, align 8
  tail call void %89(ptr noundef %73) #18
  store i64 0, ptr %4, align 8
  br label %103

90:                                               ; preds = %81, %90
  %91 = phi ptr [ %75, %81 ], [ %99, %90 ]
  %92 = getelementptr inbounds nuw i8, ptr %91, i64 32
  store ptr %8, ptr %92, align 8
  %93 = load ptr, ptr %82, align 8
  %94 = getelementptr inbounds nuw i8, ptr %91, i64 56
  %95 = load ptr, ptr %94, align 8
  %96 = getelementptr inbounds nuw i8, ptr %91, i64 64
  %97 = load ptr, ptr %96, align 8
  %98 = tail call i32 %93(ptr noundef %91, ptr noundef %95, ptr noundef %97, ptr noundef null) #18
  %99 = getelementptr inbounds nuw i8, ptr %91, i64 72
  %100 = icmp ult ptr %99, %79
  %101 = icmp eq i32 %98, 0
  %102 = select i1 %100, i1 %101, i1 false
  br i1 %102, label %90, label %83, !llvm.loop !67

103:                                              ; preds = %60, %40, %2, %15, %19, %86
  %104 = phi i32 [ 1, %2 ], [ %87, %86 ], [ 1, %19 ], [ 1, %15 ], [ 1, %40 ], [ 1, %60 ]
  ret i32 %104
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @submit_there(ptr noundef readonly captures(none) %0, ptr noundef nonnull %1, ptr noundef readonly captures(none) %2, ptr noundef %3, ptr noundef %4) unnamed_addr #3 {
  %6 = alloca i64, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %6) #16
  store i64 0, ptr %6, align 8
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %2, i64 8
  %10 = load ptr, ptr %9, align 8
  %11 = call i32 %8(ptr noundef %10, ptr noundef nonnull %6) #18
  %12 = icmp eq i32 %11, 0
  br i1 %12, label %13, label %40

13:                                               ; preds = %5
  %14 = load i64, ptr %6, align 8
  %15 = getelementptr inbounds nuw i8, ptr %2, i64 16
  %16 = load i64, ptr %15, align 8
  %17 = icmp eq i64 %14, %16
  br i1 %17, label %18, label %40

18:                                               ; preds = %13
  %19 = getelementptr inbounds nuw i8, ptr %0, i64 280
  %20 = load ptr, ptr %19, align 8
  %21 = load ptr, ptr %9, align 8
  %22 = call i32 %20(ptr noundef %21) #18
  %23 = icmp eq i32 %22, 0
  br i1 %23, label %24, label %40

24:                                               ; preds = %18
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %26 = load ptr, ptr %25, align 8
  %27 = call ptr %26() #18
  %28 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %29 = load ptr, ptr %28, align 8
  %30 = getelementptr inbounds nuw i8, ptr %2, i64 24
  %31 = load ptr, ptr %30, align 8
  %32 = call i32 %29(ptr noundef nonnull %1, ptr noundef %31, ptr noundef %3, ptr noundef %4) #18
  %33 = getelementptr inbounds nuw i8, ptr %0, i64 88
  %34 = load ptr, ptr %33, align 8
  call void %34(ptr noundef %27) #18
  %35 = icmp ne i32 %32, 0
  %36 = zext i1 %35 to i32
  %37 = getelementptr inbounds nuw i8, ptr %0, i64 288
  %38 = load ptr, ptr %37, align 8
  %39 = call i32 %38(ptr noundef nonnull %6) #18
  br label %40

40:                                               ; preds = %5, %13, %18, %24
  %41 = phi i32 [ %36, %24 ], [ 1, %18 ], [ 1, %13 ], [ 1, %5 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %6) #16
  ret i32 %41
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
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 112
  %10 = load ptr, ptr %9, align 8
  %11 = icmp eq ptr %8, %10
  br i1 %11, label %12, label %17

12:                                               ; preds = %3
  %13 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %14 = load i64, ptr %13, align 8
  %15 = add i64 %14, -4
  %16 = icmp ult i64 %15, -3
  br i1 %16, label %85, label %21

17:                                               ; preds = %3
  %18 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %19 = load ptr, ptr %18, align 8
  %20 = icmp eq ptr %8, %19
  br i1 %20, label %21, label %85

21:                                               ; preds = %17, %12
  %22 = phi i64 [ %14, %12 ], [ 0, %17 ]
  %23 = tail call i64 @llvm.umax.i64(i64 %22, i64 1)
  %24 = icmp eq i64 %22, 0
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %26 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %27 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %28 = getelementptr inbounds nuw i8, ptr %0, i64 120
  %29 = getelementptr inbounds nuw i8, ptr %0, i64 160
  br label %30

30:                                               ; preds = %21, %73
  %31 = phi i64 [ 0, %21 ], [ %74, %73 ]
  br i1 %24, label %41, label %32

32:                                               ; preds = %30
  %33 = load ptr, ptr %7, align 8
  %34 = getelementptr inbounds nuw i8, ptr %33, i64 32
  %35 = load i64, ptr %34, align 8
  %36 = getelementptr inbounds i8, ptr %1, i64 %35
  %37 = shl i64 %31, 32
  %38 = ashr exact i64 %37, 29
  %39 = getelementptr inbounds i8, ptr %36, i64 %38
  %40 = load ptr, ptr %39, align 8
  br label %41

41:                                               ; preds = %30, %32
  %42 = phi ptr [ %40, %32 ], [ %1, %30 ]
  %43 = getelementptr inbounds nuw i8, ptr %42, i64 8
  %44 = load ptr, ptr %43, align 8
  %45 = load ptr, ptr %25, align 8
  %46 = icmp eq ptr %44, %45
  br i1 %46, label %47, label %85

47:                                               ; preds = %41
  %48 = getelementptr inbounds nuw i64, ptr %4, i64 %31
  %49 = getelementptr inbounds nuw i8, ptr %42, i64 16
  %50 = load i64, ptr %49, align 8
  %51 = load i64, ptr %26, align 8
  %52 = xor i64 %51, -1
  %53 = and i64 %50, %52
  %54 = load i64, ptr %27, align 8
  %55 = icmp eq i64 %53, %54
  br i1 %55, label %56, label %60

56:                                               ; preds = %47
  %57 = getelementptr inbounds nuw i8, ptr %42, i64 24
  %58 = load i32, ptr %57, align 4
  %59 = zext i32 %58 to i64
  store i64 %59, ptr %48, align 8
  br label %73

60:                                               ; preds = %47
  %61 = load ptr, ptr %28, align 8
  %62 = tail call i64 %61(ptr noundef nonnull %42) #18
  store i64 %62, ptr %48, align 8
  %63 = icmp eq i64 %62, -1
  br i1 %63, label %64, label %71

64:                                               ; preds = %60
  %65 = load ptr, ptr %29, align 8
  %66 = tail call ptr %65() #18
  %67 = icmp eq ptr %66, null
  br i1 %67, label %85, label %68

68:                                               ; preds = %64
  %69 = getelementptr inbounds nuw i8, ptr %0, i64 168
  %70 = load ptr, ptr %69, align 8
  tail call void %70() #18
  br label %85

71:                                               ; preds = %60
  %72 = icmp ult i64 %62, 4294967296
  br i1 %72, label %73, label %85

73:                                               ; preds = %71, %56
  %74 = add nuw nsw i64 %31, 1
  %75 = icmp eq i64 %74, %23
  br i1 %75, label %76, label %30, !llvm.loop !68

76:                                               ; preds = %73
  %77 = load i64, ptr %4, align 16
  %78 = load i64, ptr %6, align 8
  %79 = load i64, ptr %5, align 16
  %80 = shl i64 %78, 32
  %81 = or i64 %80, %77
  store i64 %81, ptr %2, align 8
  %82 = shl nuw nsw i64 %22, 32
  %83 = or i64 %79, %82
  %84 = getelementptr inbounds nuw i8, ptr %2, i64 8
  store i64 %83, ptr %84, align 8
  br label %85

85:                                               ; preds = %71, %41, %64, %68, %17, %12, %76
  %86 = phi i32 [ 1, %12 ], [ 0, %76 ], [ 1, %17 ], [ 1, %68 ], [ 1, %64 ], [ 1, %41 ], [ 1, %71 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %4) #16
  ret i32 %86
}

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smax.i64(i64, i64) #14

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #14

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umax.i64(i64, i64) #14

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(inaccessiblemem: write)
declare void @llvm.assume(i1 noundef) #15

attributes #0 = { nounwind "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #3 = { noinline nounwind "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #4 = { mustprogress nocallback nofree nosync nounwind willreturn }
attributes #5 = { nofree noinline norecurse nosync nounwind memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #6 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #7 = { nofree noinline norecurse nosync nounwind memory(read, inaccessiblemem: none, target_mem0: none, target_mem1: none) "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #8 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite) "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #9 = { nofree noinline norecurse nosync nounwind memory(argmem: readwrite) "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
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
!20 = !{!"branch_weights", i32 2000, i32 2001, i32 4000000}
!21 = distinct !{!21, !7, !9, !18}
!22 = distinct !{!22, !7, !9, !18}
!23 = distinct !{!23, !7}
!24 = !{!"branch_weights", i32 1, i32 8000, i32 2, i32 1}
!25 = distinct !{!25, !9}
!26 = distinct !{!26, !7}
!27 = distinct !{!27, !7}
!28 = distinct !{!28, !7}
!29 = distinct !{!29, !7}
!30 = distinct !{!30, !7}
!31 = distinct !{!31, !7}
!32 = distinct !{!32, !7}
!33 = !{!"branch_weights", !"expected", i32 1078537, i32 2146405111}
!34 = distinct !{!34, !7}
!35 = distinct !{!35, !7}
!36 = !{!"branch_weights", !"expected", i32 1717128, i32 2145766520}
!37 = !{!"branch_weights", i32 4000000, i32 4001}
!38 = !{!"branch_weights", i32 1, i32 2001, i32 2000}
!39 = distinct !{!39, !7}
!40 = !{!"branch_weights", !"expected", i32 2144915473, i32 2568175}
!41 = distinct !{!41, !7}
!42 = !{!"branch_weights", !"expected", i32 -2147483648, i32 0}
!43 = distinct !{!43, !7}
!44 = distinct !{!44, !7}
!45 = distinct !{!45, !7}
!46 = distinct !{!46, !7}
!47 = distinct !{!47, !7}
!48 = distinct !{!48, !7}
!49 = distinct !{!49, !7}
!50 = distinct !{!50, !7}
!51 = distinct !{!51, !7, !52}
!52 = !{!"llvm.loop.peeled.count", i32 1}
!53 = distinct !{!53, !7}
!54 = distinct !{!54, !7}
!55 = distinct !{!55, !7}
!56 = distinct !{!56, !9}
!57 = distinct !{!57, !7}
!58 = distinct !{!58, !7}
!59 = distinct !{!59, !9}
!60 = distinct !{!60, !7}
!61 = distinct !{!61, !7}
!62 = distinct !{!62, !7}
!63 = distinct !{!63, !7, !9, !18}
!64 = distinct !{!64, !7}
!65 = distinct !{!65, !7, !52}
!66 = distinct !{!66, !7}
!67 = distinct !{!67, !7}
!68 = distinct !{!68, !7}
